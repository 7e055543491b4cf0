/** Assembles the health feature from the parts that the other features report. */
import type { Needs } from '../../core.ts'
import type { Capability, Feature } from '../../platform/feature/feature.ts'
import { gatherAll, gatherInTime } from './gather.ts'
import { healthOperations } from './health.routes.ts'
import { Capabilities, COUNTS } from './health.schema.ts'
import { healthService } from './health.service.ts'
import { overviewOperations } from './overview/overview.routes.ts'
import { overviewSchema } from './overview/overview.schema.ts'
import { overviewService } from './overview/overview.service.ts'

type Core = Needs<'db' | 'version' | 'checks' | 'clock' | 'log', 'DATABASE_URL' | 'TENANT_MODE'>

/** Assembles the feature. @throws Error if a name that the schemas require is missing or duplicate */
export function openHealth(
  { db, version, checks, clock, log, config }: Core,
  features: readonly Feature[],
): Feature {
  const state = { isServing: true }
  const service = healthService({
    db,
    version,
    embedded: config.DATABASE_URL === undefined,
    multiTenant: config.TENANT_MODE === 'multi',
    checks: gatherInTime('check', [{ name: 'core', checks }, ...features], (one) => one.checks),
    counts: gatherAll('count', features, (one) => one.counts, COUNTS),
    isServing: () => state.isServing,
  })
  const capabilities = gatherAll(
    'capability',
    features,
    (one) => one.capabilities,
    Capabilities.properties,
  )
  const attention = gatherInTime('part of the overview', features, (one) => one.attention)
  const counts = gatherInTime('figure', features, (one) => one.figures)
  const overview = overviewService({ db, clock, log, attention, counts, health: service.glance })
  return {
    name: 'health',
    operations: [
      ...healthOperations(service, () => statesOf(capabilities)),
      ...overviewOperations(overview, overviewSchema(attention, counts)),
    ],
    stopping() {
      state.isServing = false
    },
  }
}

function statesOf<Name extends string>(
  capabilities: Record<Name, Capability>,
): Record<Name, boolean> {
  const entries = Object.entries<Capability>(capabilities)
  return Object.fromEntries(
    entries.map(([name, one]) => [name, typeof one === 'function' ? one() : one]),
  ) as Record<Name, boolean>
}
