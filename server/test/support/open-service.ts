/**
 * Opens the real application for tests, with a movable clock. Does not import Vitest, because the global setup uses
 * this file too.
 */
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, type BackgroundWork, openApp } from '../../src/app.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import type { ProcessRole } from '../../src/core.ts'
import { givenOnly, type RootKeySource } from '../../src/platform/crypto/index.ts'
import type { DatabaseAddress } from '../../src/platform/db/index.ts'
import { UNDECLARED } from '../../src/platform/http/routes.ts'
import { parseNetworks } from '../../src/platform/net/index.ts'
import type { Logger } from '../../src/platform/observe/log.ts'
import { CARDNET_SECRET } from './payments.ts'
import { type MovableClock, movableClock } from './time.ts'

export interface Answer<T = any> {
  status: number
  headers: Record<string, string | string[] | number | undefined>
  /** The body: parsed JSON, or the text of a file. Undefined if the response has no body. */
  body: T
}

export interface CallOptions {
  token?: string | undefined
  body?: unknown
  /** The query parameters. A list is sent as a repeated parameter. */
  query?: Record<string, string | number | boolean | readonly string[]>
  headers?: Record<string, string>
  /** The raw body. Replaces `body`, which is sent as JSON. */
  payload?: string | Buffer
}

export interface OpenOptions {
  config?: Partial<Config>
  /** The background work to run; none by default. */
  background?: readonly BackgroundWork[]
  /** The process role. By default 'api', or 'all' if background work runs. */
  role?: ProcessRole
  rootKeys?: RootKeySource
  /** The folder of a built console, such as `await builtConsole()`. By default no console is served. */
  consoleFolder?: string
  /** By default a new clock. */
  clock?: MovableClock
  /** True if moving `clock` simulates a wrong system clock. By default the database's time moves with the clock. */
  isClockWrong?: boolean
}

export interface OpenedService {
  app: App
  clock: MovableClock
  /** Every line that was logged, as `[level, fields, message]`. */
  logged: unknown[][]
  /** The data folder. Without SMTP, its `outbox` folder contains the mails. */
  dataDir: string
  call<T = any>(method: string, path: string, options?: CallOptions): Promise<Answer<T>>
  /** Resolves when the background work of these names is idle. */
  idle(...works: BackgroundWork[]): Promise<void>
  close(): Promise<void>
}

export const SUPERADMIN = { email: 'root@platform.local', password: 'sesame-Gate-77' }

/** The public URL, which is also the issuer of the tokens. */
export const PUBLIC_URL = 'http://wardkeep.test'

export const ROOT_KEY = Buffer.alloc(32, 7)

/** Root keys in the form in which an operator configures them. */
export const rootKeys = (...keys: Buffer[]): RootKeySource =>
  givenOnly(...keys.map((key) => ({ key, from: 'the test' })))

/**
 * Returns the configuration for tests: no rate limits, cheap hashes, no demo data, and webhook receivers on the
 * loopback.
 */
export function testConfig(overrides: Partial<Config> = {}): Config {
  return {
    ...readConfig({
      BOOTSTRAP_ADMIN_EMAIL: SUPERADMIN.email,
      BOOTSTRAP_ADMIN_PASSWORD: SUPERADMIN.password,
      DEMO: 'false',
      RATE_LIMIT_PER_MINUTE: '0',
      AUTH_RATE_LIMIT_PER_MINUTE: '0',
      PAYMENT_RATE_LIMIT_PER_MINUTE: '0',
      WRITE_RATE_LIMIT_PER_MINUTE: '0',
      TENANT_WRITE_RATE_LIMIT_PER_MINUTE: '0',
      // Disabled, because tests create faults of their own.
      SELF_HEALING: 'off',
    }),
    // The lowest cost that argon2 allows, because these tests do not test the strength of hashes.
    PASSWORD_MEMORY_KIB: 64,
    PASSWORD_PASSES: 1,
    CARDNET_WEBHOOK_SECRET: [CARDNET_SECRET],
    WEBHOOK_ALLOW_HTTP: true,
    WEBHOOK_ALLOWED_NETWORKS: parseNetworks('127.0.0.0/8'),
    ...overrides,
  }
}

/** Opens the service. The caller closes it. */
export async function openTestService(
  options: OpenOptions & { address: DatabaseAddress },
): Promise<OpenedService> {
  const clock = options.clock ?? movableClock()
  const logged: unknown[][] = []
  const dataDir = join(tmpdir(), `wardkeep-service-${randomUUID()}`)
  const { background } = options
  const app = await openApp({
    config: testConfig({ DATA_DIR: dataDir, ...options.config }),
    address: options.address,
    publicUrl: options.config?.PUBLIC_URL ?? PUBLIC_URL,
    consoleFolder: options.consoleFolder ?? join(dataDir, 'no-console'),
    rootKeys: options.rootKeys ?? rootKeys(ROOT_KEY),
    log: recorder(logged),
    clock,
    ...(options.isClockWrong ? {} : { databaseNow: async () => clock.now() }),
    role: options.role ?? (background ? 'all' : 'api'),
    ...(background ? { background } : {}),
  })
  let isOpen = true
  const close = async () => {
    if (!isOpen) return
    isOpen = false
    await app.close()
    await rm(dataDir, { recursive: true, force: true })
    const undeclared = logged.filter(([, , message]) => message === UNDECLARED)
    if (undeclared.length > 0)
      throw new Error(`refusals that no operation declares: ${JSON.stringify(undeclared)}`)
  }
  const idle = async (...works: BackgroundWork[]) => {
    for (const work of works) await app.idle(work)
  }
  return { app, clock, logged, dataDir, idle, close, call: caller(app) }
}

/** The headers that a browser sends with requests from the service's own pages. */
const OWN_PAGE = { 'sec-fetch-site': 'same-origin' }

function caller(app: App): OpenedService['call'] {
  return async (method, path, { token, body, query, headers, payload } = {}) => {
    const sent = payload ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await app.server.inject({
      method: method as 'GET',
      url: path,
      ...(query
        ? {
            query: Object.fromEntries(
              Object.entries(query).map(([k, v]) => [k, Array.isArray(v) ? v : String(v)]),
            ),
          }
        : {}),
      headers: {
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(path.startsWith('/api/console/') ? OWN_PAGE : {}),
        ...headers,
      },
      ...(sent === undefined ? {} : { payload: sent }),
    })
    return {
      status: response.statusCode,
      headers: response.headers,
      body: bodyOf(response),
    }
  }
}

/** Parses JSON; returns a file, including JSON lines, as text. */
function bodyOf({ headers, body }: { headers: Answer['headers']; body: string }) {
  if (body === '') return undefined
  return /\bjson/.test(String(headers['content-type'])) ? JSON.parse(body) : body
}

function recorder(logged: unknown[][]): Logger {
  const at = (level: string) => (fields: unknown, message?: unknown) =>
    void logged.push([level, fields, message])
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } as Logger
}
