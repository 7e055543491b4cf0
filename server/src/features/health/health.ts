/** Health, put together from what the other features say of themselves. */
import type { Needs } from '../../core.ts'
import type { Capability, Feature } from '../../platform/feature.ts'
import { gather, gatherAll } from './gather.ts'
import { healthOperations } from './health.routes.ts'
import { Capabilities, COUNTS } from './health.schema.ts'
import { healthService } from './health.service.ts'

type Core = Needs<'db' | 'version' | 'checks', 'DATABASE_URL' | 'TENANT_MODE'>

/** @throws Error when the features leave out what the schemas promise, or two say the same */
export function openHealth(
  { db, version, checks, config }: Core,
  features: readonly Feature[],
): Feature {
  const state = { isServing: true }
  const service = healthService({
    db,
    version,
    embedded: config.DATABASE_URL === undefined,
    multiTenant: config.TENANT_MODE === 'multi',
    checks: gather('check', [{ name: 'core', checks }, ...features], (one) => one.checks),
    counts: gatherAll('count', features, (one) => one.counts, COUNTS),
    isServing: () => state.isServing,
  })
  const capabilities = gatherAll(
    'capability',
    features,
    (one) => one.capabilities,
    Capabilities.properties,
  )
  return {
    name: 'health',
    operations: healthOperations(service, () => statesOf(capabilities)),
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
