/** How the service is: alive, ready to answer, and in detail for its administrators. */
import { Problem } from '../../lib/problems.ts'
import type { Admin } from '../../platform/access/index.ts'
import { forCaller, type Scopes } from '../../platform/db/index.ts'
import type { Count, State } from '../../platform/feature.ts'
import type { AdminHealth, COUNTS } from './health.schema.ts'
import { serverVersion } from './health.store.ts'

export interface HealthDeps {
  db: Scopes
  version: string
  embedded: boolean
  multiTenant: boolean
  /** The components beside the database, by name. */
  checks: Readonly<Record<string, () => State>>
  counts: Readonly<Record<keyof typeof COUNTS, Count>>
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
          tenants_count: await deps.counts.tenants_count(tx),
          users_count: await deps.counts.users_count(tx),
          patients_count: await deps.counts.patients_count(tx),
          engine: `PostgreSQL ${await serverVersion(tx)}`,
        }),
        'read',
      )
      const { engine, ...counted } = counts
      const checks: Record<string, State> = {
        database: latency > SLOW_MS || !db.canWrite() ? 'degraded' : 'ok',
      }
      for (const [name, check] of Object.entries(deps.checks)) checks[name] = check()
      return {
        status: worst(Object.values(checks)),
        tenant_mode: deps.multiTenant,
        // Without a root key there is no service (decisions §8).
        encryption_enabled: true,
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
