/** The tables of errors, events and configuration say what the code's registries say, both ways. */
import { describe, expect, test } from 'vitest'
import { VARIABLES } from '../../src/config.ts'
import { AuditEntry } from '../../src/features/audit/audit.schema.ts'
import { PROBLEMS } from '../../src/lib/problems.ts'
import { ACTIONS, isPublic } from '../../src/platform/journal/actions.ts'
import { named, tableOf } from './documents.ts'

const byName = (rows: string[][]) => rows.sort(([a = ''], [b = '']) => (a < b ? -1 : 1))

describe('docs/errors.md', () => {
  const rows = tableOf('docs/errors.md', 'Code')

  test('has every code once, with its status and its sentence, and no other', () => {
    const registry = Object.entries(PROBLEMS).map(([code, [status, detail]]) => [
      code,
      String(status),
      detail,
    ])
    const told = rows.map(([code, status = '', detail = '']) => [named(code), status, detail])
    expect(byName(told)).toEqual(byName(registry))
  })

  test('says for each what to do', () => {
    for (const [code, , , advice] of rows) expect(advice, code).toMatch(/^[A-Z`[].*\.$/)
  })
})

describe('docs/events.md', () => {
  test('has every action once, with its meaning and whether it is public, and no other', () => {
    const registry = Object.entries(ACTIONS).map(([action, { meaning }]) => [
      action,
      meaning,
      isPublic(action) ? 'yes' : 'no',
    ])
    const told = tableOf('docs/events.md', 'Action').map(([action, meaning = '', open = '']) => [
      named(action),
      meaning,
      open,
    ])
    expect(byName(told)).toEqual(byName(registry))
  })

  test('has every field of an entry once, with its meaning, and no other', () => {
    const rows = tableOf('docs/events.md', 'Field')
    expect(rows.map(([field]) => named(field)).sort()).toEqual(
      Object.keys(AuditEntry.properties).sort(),
    )
    for (const [field, meaning] of rows) expect(meaning, field).not.toBe('')
  })
})

describe('docs/configuration.md', () => {
  test('has every variable once, with its meaning and default, and no other', () => {
    const registry = Object.entries(VARIABLES).map(([name, variable]) => [
      name,
      variable.meaning,
      variable.default,
    ])
    const told = tableOf('docs/configuration.md', 'Variable').map(
      ([name, meaning = '', fallback = '']) => [named(name), meaning, fallback],
    )
    expect(byName(told)).toEqual(byName(registry))
  })
})
