/** How the service is: alive, ready to answer, and in detail for its administrators. */
import { Problem } from '../../lib/problems.ts'
import type { Admin } from '../../platform/access/index.ts'
import { forCaller, type Scopes } from '../../platform/db/index.ts'
import { countPatients } from '../patients/index.ts'
import { countTenants } from '../tenants/index.ts'
import { countUsers } from '../users/index.ts'
import type { AdminHealth } from './health.schema.ts'
import { serverVersion } from './health.store.ts'

type State = AdminHealth['status']

export interface HealthDeps {
  db: Scopes
  version: string
  embedded: boolean
  multiTenant: boolean
  encryptionEnabled: boolean
  /** The components beside the database, by name. */
  checks: Record<string, () => State>
  /** Whether the service is up and not on its way down. */
  isServing: () => boolean
}

export interface Health {
  /** @throws Problem 503 when the database cannot be used or the service is stopping */
  ready(): Promise<void>
  report(caller: Admin): Promise<AdminHealth>
}

/** A database that takes this long for nothing is not well. */
const SLOW_MS = 250

export function healthService(deps: HealthDeps): Health {
  const { db } = deps
  return {
    async ready() {
      if (!deps.isServing()) throw new Problem('stopping', { retryAfter: 5 })
      await db.ping()
    },

    async report(caller) {
      const latency = await db.ping()
      const counts = await forCaller(
        db,
        caller,
        async (tx) => ({
          tenants_count: await countTenants(tx),
          users_count: await countUsers(tx),
          patients_count: await countPatients(tx),
          engine: `PostgreSQL ${await serverVersion(tx)}`,
        }),
        'read',
      )
      const { engine, ...counted } = counts
      const checks: Record<string, State> = { database: latency > SLOW_MS ? 'degraded' : 'ok' }
      for (const [name, check] of Object.entries(deps.checks)) checks[name] = check()
      return {
        status: worst(Object.values(checks)),
        tenant_mode: deps.multiTenant,
        encryption_enabled: deps.encryptionEnabled,
        ...counted,
        version: deps.version,
        uptime_seconds: Math.floor(process.uptime()),
        database: { engine, embedded: deps.embedded, latency_ms: Math.round(latency * 100) / 100 },
        checks,
      }
    },
  }
}

function worst(states: State[]): State {
  return states.includes('down') ? 'down' : states.includes('degraded') ? 'degraded' : 'ok'
}
