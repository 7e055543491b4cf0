/** The tables of errors, events and configuration say what the code's registries say, both ways. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { VARIABLES } from '../../src/config/config.ts'
import { AuditEntry } from '../../src/features/audit/audit.schema.ts'
import { PROBLEMS } from '../../src/lib/problems.ts'
import { ACTIONS, isPublic } from '../../src/platform/journal/actions.ts'
import { named, ROOT, tableOf } from './documents.ts'

/** Where code says what an entry is about. */
const TYPED = /(?:resource_type: |journalEntry\(\s*[\w.']+,\s*)'(\w+)'/g

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

  test('has every type of resource once, and no other', async () => {
    const row = tableOf('docs/events.md', 'Field').find(([field]) => field === '`resource_type`')
    const told = [...(row?.[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name)
    const entered = new Set<string | undefined>()
    for await (const file of glob('server/src/**/!(*.test).ts', { cwd: ROOT })) {
      const text = readFileSync(path.join(ROOT, file), 'utf8')
      for (const [, type] of text.matchAll(TYPED)) entered.add(type)
    }
    // The type of the column.
    entered.delete('text')
    expect(told.sort()).toEqual([...entered].sort())
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
