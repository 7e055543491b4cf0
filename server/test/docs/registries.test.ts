/** The tables of errors, events and configuration match the code's registries, in both directions. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { AuditEntry } from '../../src/features/audit/audit.schema.ts'
import { CLASSES, MAPPINGS, SEVERITIES } from '../../src/features/siem/formats/mapping.ts'
import { PROBLEMS } from '../../src/lib/problems.ts'
import { ACTIONS, isPublic } from '../../src/platform/journal/actions.ts'
import { named, ROOT, tableOf } from './documents.ts'

/** Matches the resource type that code assigns to a journal entry. */
const TYPED = /(?:resource_type: |journalEntry\(\s*[\w.']+,\s*)'(\w+)'/g

const byName = (rows: string[][]) => rows.sort(([a = ''], [b = '']) => (a < b ? -1 : 1))

describe('docs/reference/errors.md', () => {
  const rows = tableOf('docs/reference/errors.md', 'Code')

  test('lists each error code once with its status and message, and no unknown code', () => {
    const registry = Object.entries(PROBLEMS).map(([code, [status, detail]]) => [
      code,
      String(status),
      detail,
    ])
    const told = rows.map(([code, status = '', detail = '']) => [named(code), status, detail])
    expect(byName(told)).toEqual(byName(registry))
  })

  test('says for each error code what to do', () => {
    for (const [code, , , advice] of rows) expect(advice, code).toMatch(/^[A-Z`[].*\.$/)
  })
})

describe('docs/reference/siem.md', () => {
  test('lists each action once, with the class, activity, severity and status of its mapping', () => {
    const mapped = Object.entries(MAPPINGS).map(([action, mapping]) => [
      action,
      CLASSES[mapping.class].name,
      mapping.activityName,
      String(mapping.activity),
      SEVERITIES[mapping.severity],
      mapping.isFailure ? 'Failure' : 'Success',
    ])
    const told = tableOf('docs/reference/siem.md', 'Action').map(([action, ...cells]) => [
      named(action),
      ...cells,
    ])
    expect(byName(told)).toEqual(byName(mapped))
  })
})

describe('docs/reference/events.md', () => {
  test('lists each action once, with its meaning and whether it is public, and no unknown action', () => {
    const registry = Object.entries(ACTIONS).map(([action, { meaning }]) => [
      action,
      meaning,
      isPublic(action) ? 'yes' : 'no',
    ])
    const told = tableOf('docs/reference/events.md', 'Action').map(
      ([action, meaning = '', open = '']) => [named(action), meaning, open],
    )
    expect(byName(told)).toEqual(byName(registry))
  })

  test('lists each field of an entry once with its meaning, and no unknown field', () => {
    const rows = tableOf('docs/reference/events.md', 'Field')
    expect(rows.map(([field]) => named(field)).sort()).toEqual(
      Object.keys(AuditEntry.properties).sort(),
    )
    for (const [field, meaning] of rows) expect(meaning, field).not.toBe('')
  })

  test('lists each resource type once, and no unknown type', async () => {
    const row = tableOf('docs/reference/events.md', 'Field').find(
      ([field]) => field === '`resource_type`',
    )
    const told = [...(row?.[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name)
    const entered = new Set<string | undefined>()
    for await (const file of glob('server/src/**/!(*.test).ts', { cwd: ROOT })) {
      const text = readFileSync(path.join(ROOT, file), 'utf8')
      for (const [, type] of text.matchAll(TYPED)) entered.add(type)
    }
    // This match is the column type `text`, not a resource type.
    entered.delete('text')
    expect(told.sort()).toEqual([...entered].sort())
  })
})
