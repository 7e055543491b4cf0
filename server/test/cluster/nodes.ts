/** The Wardkeep nodes of a run. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { until } from '../support/until.ts'
import { type RunningProgram, startProgram } from './processes.ts'

const MAIN = path.join(import.meta.dirname, '../../src/main.ts')

/** The number of connections that one node keeps for requests. */
export const POOL_SIZE = 10
/**
 * The largest number of connections of one node: those for requests, and 28 others
 * (docs/how-to/operate/several-nodes.md).
 */
export const NODE_CONNECTIONS = POOL_SIZE + 28

export const SUPERADMIN = { email: 'root@platform.local', password: 'sesame-Gate-77' }

/** A process of the service. */
export interface Node {
  readonly name: string
  readonly address: string
  /** Starts the service and waits until it is ready. @throws Error with the last lines of its log */
  start(databaseUrl: string): Promise<void>
  stop(): Promise<void>
  /** Returns the environment of the service, for other commands. */
  env(databaseUrl: string): NodeJS.ProcessEnv
}

/** Prepares a node with its own folder. */
export function openNode(name: string, port: number, folder: string, rootKey: string): Node {
  const cwd = path.join(folder, `node-${name}`)
  mkdirSync(cwd, { recursive: true, mode: 0o700 })
  const address = `http://127.0.0.1:${port}`
  let running: RunningProgram | undefined
  const env = (databaseUrl: string): NodeJS.ProcessEnv => ({
    PORT: String(port),
    DEMO: 'false',
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    DATA_DIR: path.join(cwd, 'data'),
    ENCRYPTION_KEY: rootKey,
    PUBLIC_URL: 'http://wardkeep.test',
    BOOTSTRAP_ADMIN_EMAIL: SUPERADMIN.email,
    BOOTSTRAP_ADMIN_PASSWORD: SUPERADMIN.password,
    RATE_LIMIT_PER_MINUTE: '0',
    AUTH_RATE_LIMIT_PER_MINUTE: '0',
    WRITE_RATE_LIMIT_PER_MINUTE: '0',
    TENANT_WRITE_RATE_LIMIT_PER_MINUTE: '0',
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    // Scans run during the faults, where they must not report anything.
    SELF_HEALING_SCAN: '* * * * *',
    UV_THREADPOOL_SIZE: '3',
  })
  return {
    name,
    address,
    env,
    async start(databaseUrl) {
      const options = { cwd, env: env(databaseUrl), log: 'service' }
      const started = startProgram(process.execPath, [MAIN, 'start'], options)
      running = started
      const life = { ended: false }
      void started.ended.then(() => {
        life.ended = true
      })
      const isReady = await until(`node ${name} is ready`, async () => {
        if (life.ended) return false
        const { status } = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(2_000) })
        return status === 200 || undefined
      })
      if (isReady) return
      const lines = (await readFile(path.join(cwd, 'service.log'), 'utf8')).trimEnd().split('\n')
      throw new Error(`node ${name} did not start: ${lines.at(-1)}`)
    },
    async stop() {
      running?.signal('SIGTERM')
      await running?.ended
      running = undefined
    },
  }
}

/** Returns a new root key for all nodes. */
export const newRootKey = (): string => randomBytes(32).toString('base64')
