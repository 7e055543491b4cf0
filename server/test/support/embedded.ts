/** Embedded servers of a test, and services on them in child processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { type EmbeddedServer, startEmbedded } from '../../src/platform/embedded/index.ts'
import { atTheEnd } from './cleanup.ts'
import { until } from './until.ts'

const silence = () => undefined
const quiet = { info: silence, warn: silence, error: silence }

/** Starts the embedded server with fsync off. The server stops at the end of the test or its file. */
export async function started(
  dataDir: string,
  settings: Record<string, string> = { fsync: 'off' },
  log: Parameters<typeof startEmbedded>[0]['log'] = quiet,
): Promise<EmbeddedServer> {
  const server = await startEmbedded({ dataDir, log, settings })
  atTheEnd(() => server.stop())
  return server
}

/** Runs one statement on a new connection. */
export async function query<Row extends pg.QueryResultRow>(
  connection: pg.ClientConfig,
  text: string,
): Promise<Row[]> {
  const client = new pg.Client(connection)
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Returns the pid that the server on the folder has written to its file. */
export async function postmasterPid(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10)
}

/** The output of a service in a separate process so far. */
export interface Service {
  readonly pid: number
  readonly ended: Promise<number | null>
  said<T>(kind: 'ready' | 'ack' | 'fault' | 'log'): T[]
  kill(): void
  /** Returns the first output of that kind. Throws if the process ends without such output. */
  first<T>(kind: 'ready' | 'ack' | 'fault' | 'log'): Promise<T>
}

/** Starts `embedded-child.ts` on the folder. The process is killed at the end of the test. */
export function service(
  dataDir: string,
  options: { mode?: 'write' | 'die-in-initdb'; code?: string } = {},
): Service {
  const code = options.code ?? join(import.meta.dirname, 'embedded-child.ts')
  const child: ChildProcess = spawn(
    process.execPath,
    [code, dataDir, ...(options.mode ? [options.mode] : [])],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const { pid, stdout } = child
  if (pid === undefined || !stdout) throw new Error('the child did not start')
  const lines: { kind: string; value: unknown }[] = []
  createInterface({ input: stdout }).on('line', (line) => {
    const gap = line.indexOf(' ')
    try {
      lines.push({ kind: line.slice(0, gap), value: JSON.parse(line.slice(gap + 1)) })
    } catch {
      // The last line may be incomplete if the process was killed.
    }
  })
  let over = false
  const ended = new Promise<number | null>((resolve) =>
    child.once('close', (status) => resolve(status)),
  )
  void ended.then(() => {
    over = true
  })
  const kill = () => void child.kill('SIGKILL')
  const said = <T>(kind: string) =>
    lines.filter((line) => line.kind === kind).map((line) => line.value as T)
  onTestFinished(async () => {
    kill()
    await ended
  })
  return {
    pid,
    ended,
    said,
    kill,
    async first<T>(kind: string): Promise<T> {
      const look = () => {
        const [value] = said<T>(kind)
        return value !== undefined ? { value } : over ? ('over' as const) : undefined
      }
      const found = await until(`the service says ${kind}`, look, 60_000)
      if (found === 'over')
        throw new Error(`the service ended without saying ${kind}: ${JSON.stringify(lines)}`)
      return found.value
    },
  }
}
