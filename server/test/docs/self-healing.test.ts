/** The catalogue in docs/reference/self-healing.md matches the code, in both directions. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Fix } from '../../src/platform/feature/fix.ts'
import { openService } from '../support/service.ts'
import { named, ROOT, tableOf, textOf } from './documents.ts'

let fixes: readonly Fix[]

beforeAll(async () => {
  fixes = (await openService()).app.fixes
})

const who = ({ repair, automatic }: Fix) =>
  !repair ? 'people' : automatic ? 'automatic' : 'confirmed'

/** Returns the path in docs/runbooks that a fix names, from `[name](../runbooks/name.md)`. */
const runbookOf = (cell: string) => /^\[[^\]]+\]\(\.\.\/runbooks\/([\w.-]+)\)$/.exec(cell)?.[1]

describe('the table of docs/reference/self-healing.md', () => {
  const rows = tableOf('docs/reference/self-healing.md', 'Fix')

  test('lists each fix once, with its severity, its fault and who repairs it, and no unknown fix', () => {
    const told = rows.map(([key, severity, fault, , , by]) => [named(key), severity, fault, by])
    const known = fixes.map((fix) => [fix.key, fix.severity, fix.title, who(fix)])
    expect(told.sort()).toEqual(known.sort())
  })

  test('describes detection and repair for each fix', () => {
    for (const [key, , , seen, repaired] of rows) {
      expect(seen, key).toMatch(/\w/)
      expect(repaired, key).toMatch(/\w/)
    }
  })

  test('links the existing runbook that a fix names', () => {
    const told = rows.map((row) => [named(row[0]), runbookOf(row[6] ?? '')])
    const known = fixes.map(({ key, runbook }) => [key, runbook])
    expect(told.sort()).toEqual(known.sort())
    for (const { runbook } of fixes)
      if (runbook !== undefined)
        expect(existsSync(path.join(ROOT, 'docs/runbooks', runbook)), runbook).toBe(true)
  })
})

test('every fix that a person has to apply has a runbook that mentions the fix', () => {
  for (const { key, automatic, repair, runbook } of fixes)
    if (!automatic || !repair)
      expect(textOf(`docs/runbooks/${runbook}`), key).toContain(`\`${key}\``)
})

test('every fix describes its fault and its repair in complete sentences', () => {
  for (const { key, title, description, plan } of fixes) {
    expect(key).toMatch(/^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$/)
    expect(title, key).toMatch(/^[A-Z].*[^.]$/)
    expect(description, key).toMatch(/^[A-Z].*\.$/s)
    expect(plan, key).toMatch(/^[A-Z].*\.$/s)
  }
})
