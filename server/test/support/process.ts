/** Runs the `wardkeep` command in a separate process, reads its output and exit code, and calls it over HTTP. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { until } from './until.ts'

const MAIN = join(import.meta.dirname, '../../src/main.ts')

export const ADMIN = { email: 'root@platform.local', password: 'sesame-Gate-77' }

/** The configuration of a service in these tests: any free port, no demo, no limits, a known superadmin. */
export const PLAIN = {
  PORT: '0',
  DEMO: 'false',
  BOOTSTRAP_ADMIN_EMAIL: ADMIN.email,
  BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
  RATE_LIMIT_PER_MINUTE: '0',
  AUTH_RATE_LIMIT_PER_MINUTE: '0',
  PAYMENT_RATE_LIMIT_PER_MINUTE: '0',
  WRITE_RATE_LIMIT_PER_MINUTE: '0',
  TENANT_WRITE_RATE_LIMIT_PER_MINUTE: '0',
  SELF_HEALING: 'off',
}

/**
 * The variables that a program inherits from the tests' environment: program paths, and the clock of
 * `scripts/test-at.mjs`.
 */
export const INHERITED: Record<string, string> = Object.fromEntries(
  ['PATH', 'LD_PRELOAD', 'SHIFT_SECONDS'].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  }),
)

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface Command {
  readonly pid: number
  readonly ended: Promise<Ended>
  stdout(): string
  stderr(): string
  signal(name: NodeJS.Signals): void
}

export interface RunOptions {
  /** Runs the command as this account if the tests run as root. */
  account?: { uid: number; gid: number } | undefined
  /** The folder to run in. */
  cwd?: string
  /** A wrapper such as `nice`. It must replace itself with the program, so that the program receives the signals. */
  by?: readonly string[]
}

/** Starts `wardkeep <args>` with no variables except `env` and `INHERITED`. The process ends with the test. */
export function command(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  options: RunOptions = {},
): Command {
  const [first = process.execPath, ...rest] = [
    ...(options.by ?? []),
    process.execPath,
    MAIN,
    ...args,
  ]
  const child = spawn(first, rest, {
    cwd: options.cwd ?? '/',
    env: { ...INHERITED, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options.account,
  })
  const { pid } = child
  if (pid === undefined) throw new Error('the process did not start')
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  )
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    pid,
    ended,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    signal: (name) => void child.kill(name),
  }
}

/** Runs a command until it exits. */
export async function finished(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  options?: RunOptions,
) {
  const run = command(args, env, options)
  const { code, signal } = await run.ended
  return { code, signal, stdout: run.stdout(), stderr: run.stderr() }
}

/** Returns the lines on stderr of a failed start. Each line must be a sentence, without a stack trace. */
export async function refusedStart(
  env: NodeJS.ProcessEnv,
  options?: RunOptions,
): Promise<string[]> {
  const { code, stderr, stdout } = await finished(['start'], env, options)
  if (code !== 1) throw new Error(`ended with ${code}: ${stdout} ${stderr}`)
  if (stdout.includes('Wardkeep is ready')) throw new Error(`it was ready: ${stdout}`)
  if (/^\s+at /m.test(stderr)) throw new Error(`a stack was printed: ${stderr}`)
  return stderr.trimEnd().split('\n')
}

export interface HttpAnswer {
  status: number
  headers: Headers
  body: any
}

export interface RunningService extends Command {
  readonly address: string
  /** Sends one request. @throws when the connection fails */
  call(
    method: string,
    path: string,
    options?: { token?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<HttpAnswer>
  /** Requests a shutdown and waits until the process has exited. */
  stop(): Promise<Ended>
}

/** Starts the service and waits until it prints its address. */
export async function startService(
  env: NodeJS.ProcessEnv,
  options?: RunOptions,
): Promise<RunningService> {
  const run = command(['start'], env, options)
  const life: { ended?: Ended } = {}
  void run.ended.then((ended) => {
    life.ended = ended
  })
  const address = await until(
    'the service says its address',
    () => (life.ended ? '' : /Wardkeep is ready at (\S+)/.exec(run.stdout())?.[1]),
    60_000,
  )
  if (life.ended || address === '')
    throw new Error(`the start ended with ${life.ended?.code}: ${run.stdout()} ${run.stderr()}`)
  return {
    ...run,
    address,
    call: (method, path, call) => request(address, method, path, call),
    stop() {
      run.signal('SIGTERM')
      return run.ended
    },
  }
}

async function request(
  address: string,
  method: string,
  path: string,
  { token, body, headers }: Parameters<RunningService['call']>[2] = {},
): Promise<HttpAnswer> {
  const response = await fetch(address + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...headers,
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') && text !== ''
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? JSON.parse(text) : text,
  }
}

/** Signs in. Returns the access token. */
export async function tokenOf(
  service: Pick<RunningService, 'call'>,
  credentials: { email: string; password: string; subdomain?: string } = {
    ...ADMIN,
    subdomain: 'platform',
  },
): Promise<string> {
  const { status, body } = await service.call('POST', '/api/auth/login', { body: credentials })
  if (status !== 200) throw new Error(`sign-in answered ${status}: ${JSON.stringify(body)}`)
  return body.access_token
}

/** Returns a port of the loopback that is free now. */
export async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as import('node:net').AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
