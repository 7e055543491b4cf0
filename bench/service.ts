/** The service under test: started as in production, in a separate process on a data folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ClientConfig } from 'pg'

/** The path of the service's main module. */
export const MAIN = fileURLToPath(new URL('../server/src/main.ts', import.meta.url))
const START_LIMIT_MS = 120_000

export const SUPERADMIN = { email: 'operator@bench.example', password: 'bench: brass lantern 7' }

/** Variables that add to or replace the usual ones. The value undefined means the service's default. */
export type Settings = Record<string, string | undefined>

/** The service's default limits. */
export const OWN_LIMITS: Settings = {
  RATE_LIMIT_PER_MINUTE: undefined,
  AUTH_RATE_LIMIT_PER_MINUTE: undefined,
  PAYMENT_RATE_LIMIT_PER_MINUTE: undefined,
  WRITE_RATE_LIMIT_PER_MINUTE: undefined,
  TENANT_WRITE_RATE_LIMIT_PER_MINUTE: undefined,
}

export interface Service {
  url: string
  metricsUrl: string
  pid: number
  /** The milliseconds from the start of the process until it was ready. */
  readyMs: number
  stop(): Promise<void>
}

/**
 * Returns the connection to the embedded database of a data folder, as its owner, whom row-level security does not
 * restrict.
 */
export function ownerOf(dataDir: string): ClientConfig {
  return { host: join(dataDir, 'run'), user: 'wardkeep_owner', database: 'wardkeep' }
}

/** @param role `api` for a service without background work */
export async function startService(
  dataDir: string,
  settings: Settings = {},
  role: 'all' | 'api' = 'all',
): Promise<Service> {
  const [port, metricsPort] = [await freePort(), await freePort()]
  const errors = `${dataDir}.stderr`
  const stderr = openSync(errors, 'w')
  const startedAt = performance.now()
  const child = spawn(process.execPath, [MAIN, 'start', '--role', role], {
    stdio: ['ignore', 'ignore', stderr],
    env: {
      PATH: process.env.PATH,
      HOST: '127.0.0.1',
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      DATA_DIR: dataDir,
      DEMO: 'false',
      LOG_LEVEL: 'info',
      RATE_LIMIT_PER_MINUTE: '0',
      AUTH_RATE_LIMIT_PER_MINUTE: '0',
      PAYMENT_RATE_LIMIT_PER_MINUTE: '0',
      WRITE_RATE_LIMIT_PER_MINUTE: '0',
      TENANT_WRITE_RATE_LIMIT_PER_MINUTE: '0',
      BOOTSTRAP_ADMIN_EMAIL: SUPERADMIN.email,
      BOOTSTRAP_ADMIN_PASSWORD: SUPERADMIN.password,
      ...settings,
    },
  })
  closeSync(stderr)
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  // Stops the service if the bench is interrupted.
  const end = () => void child.kill('SIGTERM')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  const url = `http://127.0.0.1:${port}`
  while (!(await isReady(url))) {
    if (child.exitCode !== null || performance.now() - startedAt > START_LIMIT_MS)
      throw new Error(`the service did not start:\n${readFileSync(errors, 'utf8')}`)
    await delay(10)
  }
  const readyMs = performance.now() - startedAt
  const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  return { url, metricsUrl, pid: pidOf(child), readyMs, stop: () => stop(child, gone) }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`)).ok
  } catch {
    return false
  }
}

async function stop(child: ChildProcess, gone: Promise<void>): Promise<void> {
  child.kill('SIGTERM')
  await gone
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the process has no number')
  return child.pid
}

/** Returns a free port of 127.0.0.1. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => {
        if (typeof address === 'object' && address) resolve(address.port)
        else reject(new Error('no free port'))
      })
    })
  })
}

export interface SignedIn {
  access_token: string
  refresh_token: string
}

export async function signIn(
  url: string,
  email: string,
  password: string,
  subdomain: string,
): Promise<SignedIn> {
  const response = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password, subdomain }),
  })
  if (!response.ok) throw new Error(`${email} can't sign in: ${await response.text()}`)
  return (await response.json()) as SignedIn
}
