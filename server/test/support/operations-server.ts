/** Serves single operations without a database, for tests of what the HTTP layer does with them. */
import { onTestFinished } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import type { AnyOperation } from '../../src/platform/http/index.ts'
import {
  addOperations,
  type Guards,
  openLimits,
  openServer,
} from '../../src/platform/http/index.ts'
import { silentLog } from './server-address.ts'

interface Options {
  trustedProxies?: number
  /** The rate limits per address that apply. None by default. */
  limited?: { requests: number; notifications: number }
}

/** Opens a server with the operations until the test ends. By default, nobody can sign in. */
export async function serveOperations(
  operations: readonly AnyOperation[],
  guards: Partial<Guards> = {},
  { trustedProxies = 0, limited = { requests: 0, notifications: 0 } }: Options = {},
) {
  const limits = openLimits({ ...limited, guesses: 0, userWrites: 0, tenantWrites: 0 })
  const server = await openServer({
    trustedProxies,
    corsOrigins: [],
    limits,
    log: silentLog,
    onAnswered: () => undefined,
  })
  addOperations(server, operations, {
    authenticate() {
      throw new Error('nobody signs in here')
    },
    requireConfirmed: async () => undefined,
    refused: async () => undefined,
    requireAvailable: () => undefined,
    limits,
    publicUrl: new URL('http://127.0.0.1'),
    log: silentLog,
    clock: systemTime,
    ...guards,
  })
  onTestFinished(() => server.close())
  return server
}
