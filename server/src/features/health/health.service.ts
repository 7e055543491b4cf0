/** Reports whether the service is ready, and gives administrators a detailed health report. */
import { Problem } from '../../lib/problems.ts'
import type { Admin } from '../../platform/access/index.ts'
import { forCaller, type Scopes } from '../../platform/db/index.ts'
import type {
  CountRows,
  ComponentHealth as Found,
  HealthCheck,
  State,
} from '../../platform/feature/feature.ts'
import type { AdminHealth, COUNTS, Component } from './health.schema.ts'
import { serverVersion } from './health.store.ts'

export interface HealthDeps {
  db: Scopes
  version: string
  embedded: boolean
  multiTenant: boolean
  /** The health checks of all components except the database, by name. */
  checks: Readonly<Record<string, HealthCheck>>
  counts: Readonly<Record<keyof typeof COUNTS, CountRows>>
  /** True from the end of startup until shutdown begins. */
  isServing: () => boolean
}

export interface Health {
  /**
   * Checks that the service can handle requests.
   * @throws Problem 503 if the database is unavailable or read-only, or if the service is shutting down
   */
  ready(): Promise<void>
  report(caller: Admin): Promise<AdminHealth>
  /** Returns the state of every component as this node knows it. Does not query the database. */
  glance(): { status: State; components: Component[] }
}

/** The duration of a ping, in milliseconds, from which the database counts as slow. */
const SLOW_MS = 250

export function healthService(deps: HealthDeps): Health {
  const { db } = deps
  return {
    async ready() {
      if (!deps.isServing()) throw new Problem('stopping', { retryAfter: 5 })
      const { isReadOnly } = await db.ping()
      if (isReadOnly) throw new Problem('database_away', { retryAfter: 2 })
    },

    async report(caller) {
      const { latencyMs, isReadOnly } = await db.ping()
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
      const components = componentsOf(deps, { isSlow: latencyMs > SLOW_MS, isReadOnly })
      return {
        status: worst(components),
        tenant_mode: deps.multiTenant,
        // Always true, because the service does not start without a root key (decisions §8).
        encryption_enabled: true,
        ...counted,
        version: deps.version,
        uptime_seconds: Math.floor(process.uptime()),
        database: {
          engine,
          embedded: deps.embedded,
          latency_ms: Math.round(latencyMs * 100) / 100,
        },
        checks: Object.fromEntries(components.map(({ name, state }) => [name, state])),
        components,
      }
    },

    glance() {
      const components = componentsOf(deps, { isSlow: false, isReadOnly: false })
      return { status: worst(components), components }
    },
  }
}

interface DatabaseState {
  isSlow: boolean
  isReadOnly: boolean
}

function componentsOf({ db, checks }: HealthDeps, { isSlow, isReadOnly }: DatabaseState) {
  const database: HealthCheck = () => {
    if (isReadOnly || !db.canWrite())
      return {
        state: 'degraded',
        reason: 'The database is read-only.',
        runbook: 'service-unavailable.md',
      }
    return isSlow ? { state: 'degraded', reason: 'The database responds slowly.' } : 'ok'
  }
  return Object.entries({ database, ...checks }).map(([name, check]): Component => {
    const found = check()
    const { state, reason, since, runbook }: Found =
      typeof found === 'string' ? { state: found } : found
    return { name, state, reason: reason ?? null, since: since ?? null, runbook: runbook ?? null }
  })
}

function worst(components: readonly Component[]): State {
  const states = components.map(({ state }) => state)
  return states.includes('down') ? 'down' : states.includes('degraded') ? 'degraded' : 'ok'
}
