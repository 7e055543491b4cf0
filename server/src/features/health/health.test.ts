/** Tests that the features together report every listed name exactly once, and no unlisted name. */
import { describe, expect, test } from 'vitest'
import type { Core } from '../../core.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { Capabilities, COUNTS } from './health.schema.ts'
import { openHealth } from './index.ts'

const NAMES = Object.keys(Capabilities.properties)
const every = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, true]))
const counts = Object.fromEntries(Object.keys(COUNTS).map((name) => [name, async () => 0]))

function opened(...features: Omit<Feature, 'name'>[]): Feature {
  const core = { db: {}, version: '1', checks: { changes: () => 'ok' }, config: {} }
  return openHealth(
    core as unknown as Core,
    features.map((feature, index) => ({ name: `feature ${index}`, ...feature })),
  )
}

describe('startup of the health report', () => {
  test.each(NAMES)('fails when no feature reports %s', (missing) => {
    const others = every(NAMES.filter((name) => name !== missing))
    expect(() => opened({ counts, capabilities: others })).toThrow(
      `no feature reports the capability ${missing}`,
    )
  })

  test('fails when a feature reports an unlisted capability', () => {
    expect(() => opened({ counts, capabilities: every([...NAMES, 'flying']) })).toThrow(/flying/)
  })

  test('fails when two features report the same capability', () => {
    const [name = ''] = NAMES
    expect(() =>
      opened({ counts, capabilities: every(NAMES) }, { capabilities: every([name]) }),
    ).toThrow(`feature 1: the capability ${name} is reported twice`)
  })

  test('fails when no feature provides a listed count', () => {
    const { patients_count: _, ...others } = counts
    expect(() => opened({ counts: others, capabilities: every(NAMES) })).toThrow(/patients_count/)
  })

  test('fails when a feature and the core use the same check name', () => {
    const checks = { changes: () => 'ok' as const }
    expect(() => opened({ counts, capabilities: every(NAMES), checks })).toThrow(/changes/)
  })
})

test('the health report combines the capabilities of several features', async () => {
  const capabilities = NAMES.map((name, index) => ({ capabilities: { [name]: index % 2 === 0 } }))
  const { operations = [] } = opened({ counts }, ...capabilities)
  const asked = operations.find(({ id }) => id === 'getCapabilities')
  expect(await asked?.handle({} as never)).toEqual(
    Object.fromEntries(NAMES.map((name, index) => [name, index % 2 === 0])),
  )
})
