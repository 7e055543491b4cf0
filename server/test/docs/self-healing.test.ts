/** The catalogue in docs/self-healing.md is that of the code, both ways. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Fix } from '../../src/platform/fix.ts'
import { openService } from '../support/service.ts'
import { named, ROOT, tableOf, textOf } from './documents.ts'

let fixes: readonly Fix[]

beforeAll(async () => {
  fixes = (await openService()).app.fixes
})

const who = ({ repair, automatic }: Fix) =>
  !repair ? 'people' : automatic ? 'by itself' : 'confirmed'

/** `[name](runbooks/name.md)` as the path in docs/runbooks that a fix names. */
const runbookOf = (cell: string) => /^\[[^\]]+\]\(runbooks\/([\w.-]+)\)$/.exec(cell)?.[1]

describe('the table of docs/self-healing.md', () => {
  const rows = tableOf('docs/self-healing.md', 'Fix')

  test('has every fix once, with its severity, its fault and who repairs it, and no other', () => {
    const told = rows.map(([key, severity, fault, , , by]) => [named(key), severity, fault, by])
    const known = fixes.map((fix) => [fix.key, fix.severity, fix.title, who(fix)])
    expect(told.sort()).toEqual(known.sort())
  })

  test('says of each how it is seen and what is repaired', () => {
    for (const [key, , , seen, repaired] of rows) {
      expect(seen, key).toMatch(/\w/)
      expect(repaired, key).toMatch(/\w/)
    }
  })

  test('links the runbook that a fix names, which is there', () => {
    const told = rows.map((row) => [named(row[0]), runbookOf(row[6] ?? '')])
    const known = fixes.map(({ key, runbook }) => [key, runbook])
    expect(told.sort()).toEqual(known.sort())
    for (const { runbook } of fixes)
      if (runbook !== undefined)
        expect(existsSync(path.join(ROOT, 'docs/runbooks', runbook)), runbook).toBe(true)
  })
})

test('what waits for people has a runbook that speaks of it', () => {
  for (const { key, automatic, repair, runbook } of fixes)
    if (!automatic || !repair)
      expect(textOf(`docs/runbooks/${runbook}`), key).toContain(`\`${key}\``)
})

test('a fix says in whole sentences what is wrong and what a repair does', () => {
  for (const { key, title, description, plan } of fixes) {
    expect(key).toMatch(/^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$/)
    expect(title, key).toMatch(/^[A-Z].*[^.]$/)
    expect(description, key).toMatch(/^[A-Z].*\.$/s)
    expect(plan, key).toMatch(/^[A-Z].*\.$/s)
  }
})
