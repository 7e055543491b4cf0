/** What the service offers is what its features say: each name once, none missing, none made up. */
import { describe, expect, test } from 'vitest'
import type { Core } from '../../core.ts'
import type { Feature } from '../../platform/feature.ts'
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

describe('the service does not start', () => {
  test.each(NAMES)('when no feature tells of %s', (missing) => {
    const others = every(NAMES.filter((name) => name !== missing))
    expect(() => opened({ counts, capabilities: others })).toThrow(
      `no feature tells the capability ${missing}`,
    )
  })

  test('when a feature tells of what is not on the list', () => {
    expect(() => opened({ counts, capabilities: every([...NAMES, 'flying']) })).toThrow(/flying/)
  })

  test('when two tell of the same', () => {
    const [name = ''] = NAMES
    expect(() =>
      opened({ counts, capabilities: every(NAMES) }, { capabilities: every([name]) }),
    ).toThrow(`feature 1: the capability ${name} is told twice`)
  })

  test('when nobody counts what the report promises', () => {
    const { patients_count: _, ...others } = counts
    expect(() => opened({ counts: others, capabilities: every(NAMES) })).toThrow(/patients_count/)
  })

  test('when two check under one name, one of them the core', () => {
    const checks = { changes: () => 'ok' as const }
    expect(() => opened({ counts, capabilities: every(NAMES), checks })).toThrow(/changes/)
  })
})

test('what several features say is one answer', async () => {
  const capabilities = NAMES.map((name, index) => ({ capabilities: { [name]: index % 2 === 0 } }))
  const { operations = [] } = opened({ counts }, ...capabilities)
  const asked = operations.find(({ id }) => id === 'getCapabilities')
  expect(await asked?.handle({} as never)).toEqual(
    Object.fromEntries(NAMES.map((name, index) => [name, index % 2 === 0])),
  )
})
