import type { Core } from './core.ts'
import { conflictsOf } from './open-features.ts'
import type { Feature } from './platform/feature/feature.ts'
import {
  type AnyOperation,
  addConsole,
  addDocs,
  addOperations,
  addRedirects,
  BUILT_CONSOLE,
  type Guards,
  openLimits,
  openServer,
} from './platform/http/index.ts'

/** Opens the server with all operations. Does not listen for requests yet. */
export async function openHttpServer(
  { config, clock, log, metrics, refusals, db, publicUrl }: Core,
  features: readonly Feature[],
  operations: readonly AnyOperation[],
  callers: Pick<Guards, 'authenticate' | 'requireConfirmed'>,
  consoleFolder = BUILT_CONSOLE,
) {
  const limits = openLimits({
    requests: config.RATE_LIMIT_PER_MINUTE,
    guesses: config.AUTH_RATE_LIMIT_PER_MINUTE,
    notifications: config.PAYMENT_RATE_LIMIT_PER_MINUTE,
    userWrites: config.WRITE_RATE_LIMIT_PER_MINUTE,
    tenantWrites: config.TENANT_WRITE_RATE_LIMIT_PER_MINUTE,
  })
  const server = await openServer({
    trustedProxies: config.TRUSTED_PROXIES,
    corsOrigins: config.CORS_ORIGINS,
    limits,
    log,
    onAnswered: metrics.answered,
  })
  addOperations(server, operations, {
    ...callers,
    requireAvailable: db.requireAvailable,
    publicUrl: new URL(publicUrl),
    refused: (caller, operation, { code }) => refusals.count(caller, operation.id, code),
    limits,
    log,
    clock,
    conflicts: conflictsOf(features),
  })
  for (const { redirects = {} } of features) addRedirects(server, redirects)
  await addDocs(server)
  await addConsole(server, { folder: consoleFolder, publicUrl, log })
  return server
}
