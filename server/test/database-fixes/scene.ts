/** A database with its fixes. The helpers check and repair it as self-healing does. */
import { expect } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { ownerClient } from '../../src/platform/db/connection.ts'
import { openScopes, type Scopes, watchChanges } from '../../src/platform/db/index.ts'
import type { Detected, Finding, Fix, Repaired } from '../../src/platform/feature/fix.ts'
import { databaseFixes } from '../../src/platform/schema/repairs/index.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'

export interface Bench {
  database: TestDatabase
  db: Scopes
  fixes: readonly Fix[]
  /** Returns the findings of a fix. */
  look(key: string): Promise<Detected>
  repair(key: string, finding: Finding): Promise<Repaired>
  /** Expects exactly these findings, repairs each, and expects none afterwards. Returns the findings. */
  mend(key: string, ...subjects: string[]): Promise<readonly Finding[]>
  /** Expects exactly these schema differences. Returns them. */
  differ(...subjects: string[]): Promise<readonly Finding[]>
  /** Returns the findings of every fix. */
  lookAtAll(): Promise<Record<string, string[]>>
}

export async function openBench(given?: TestDatabase): Promise<Bench> {
  const database = given ?? (await migratedDatabase())
  const changes = watchChanges(database.address, silentLog, systemTime)
  const db = openScopes(database.address, { clock: systemTime, size: 4, changes, log: silentLog })
  atTheEnd(async () => {
    await changes.stop()
    await db.close()
  })
  const fixes = databaseFixes({
    openConnection: () => ownerClient(database.address),
  })
  const fixOf = (key: string) => {
    const fix = fixes.find((one) => one.key === key)
    if (!fix) throw new Error(`no fix ${key}`)
    return fix
  }
  const look: Bench['look'] = (key) =>
    db.acrossTenants((tx) => fixOf(key).detect(tx, undefined), 'read')
  const repair: Bench['repair'] = async (key, finding) => {
    const done = fixOf(key).repair?.(finding, (work) => db.acrossTenants(work))
    if (!done) throw new Error(`${key} has no repair`)
    return done
  }
  return {
    database,
    db,
    fixes,
    look,
    repair,
    async mend(key, ...subjects) {
      const { findings } = await look(key)
      expect(findings.map(({ subject }) => subject).toSorted()).toEqual(subjects.toSorted())
      for (const finding of findings) expect(await repair(key, finding)).toBe('repaired')
      expect((await look(key)).findings).toEqual([])
      return findings
    },
    async differ(...subjects) {
      const { findings } = await look('database.schema')
      expect(findings.map(({ subject }) => subject).toSorted()).toEqual(subjects.toSorted())
      return findings
    },
    async lookAtAll() {
      const seen: Record<string, string[]> = {}
      for (const { key } of fixes) {
        const { findings, looked_at } = await look(key)
        expect(looked_at, key).toBeGreaterThanOrEqual(findings.length)
        seen[key] = findings.map(({ subject }) => subject)
      }
      return seen
    },
  }
}
