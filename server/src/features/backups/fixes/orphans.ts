/** The self-healing check that finds files in the backup store without a row in the database. */

import { DAY } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { type Finding, type Fix, idIn } from '../../../platform/feature/fix.ts'
import { backupIdOf, entryIdOf, sidecarName } from '../file/names.ts'
import { type AdoptDeps, adoptOne } from '../operator/adopt.ts'
import { knownOf } from '../schedule/schedule.store.ts'
import type { StoredObject } from '../stores/store.ts'
import { listed } from './unusable.ts'

/** The minimum age of an orphan. A younger file may belong to a backup that is being created or deleted. */
const OLD_MS = DAY

interface StoredFiles {
  /** The names of its files: normally one, but two if the backup was just rewritten. */
  files: string[]
  listEntry: boolean
  writtenAt: number
}

export function orphans(deps: AdoptDeps & { clock: Time }): Fix {
  const { store, clock } = deps
  const find = async (tx: TenantTx) => {
    const stored = storedIn(await listed(store, clock))
    const known = await knownOf(tx, [...stored.keys()])
    const before = clock.now() - OLD_MS
    const lost = [...stored].filter(([id, { writtenAt }]) => !known.has(id) && writtenAt < before)
    if (lost.length === 0) return { lost, looked_at: stored.size }
    // Lists the store again. A backup may be deleted between the two reads: first its row, then its file.
    const again = storedIn(await listed(store, clock))
    return { lost: lost.filter(([id]) => again.has(id)), looked_at: stored.size }
  }
  return {
    key: 'backups.orphans',
    title: 'The backup store has files without an entry in the list',
    description:
      'The files take up space and are not visible in the list. A process ended between two steps, or the database was ' +
      'restored to an earlier time. A file with a list entry may be the only copy of a lost database.',
    severity: 'low',
    automatic: false,
    plan:
      'Registers a backup whose file and list entry are in the store, as `wardkeep backup adopt` does. ' +
      'Deletes a file without a list entry, and a list entry without a file.',
    runbook: 'backups.md',
    async detect(tx) {
      const { lost, looked_at } = await find(tx)
      return { findings: lost.map(findingOf), looked_at }
    },
    async repair(finding, repairing) {
      // The check deletes files by age, so the clock must be correct.
      await deps.db.agreedClock.read()
      const id = idIn(finding)
      const { lost } = await repairing(find)
      const stored = lost.find(([one]) => one === id)?.[1]
      if (!stored) return 'already gone'
      if (stored.files.length > 0 && stored.listEntry) {
        const reason = await adoptOne(deps, id)
        if (reason !== undefined) throw new Error(reason)
        return 'repaired'
      }
      for (const name of stored.listEntry ? [sidecarName(id)] : stored.files)
        if (!(await store.delete(name))) throw new Error('the store keeps it until its lock ends')
      return 'repaired'
    },
  }
}

function storedIn(objects: readonly StoredObject[]): Map<string, StoredFiles> {
  const found = new Map<string, StoredFiles>()
  for (const { name, writtenAt } of objects) {
    const ofFile = backupIdOf(name)
    const id = ofFile ?? entryIdOf(name)
    if (id === undefined) continue
    const one = found.get(id) ?? { files: [], listEntry: false, writtenAt }
    found.set(id, {
      files: ofFile === undefined ? one.files : [...one.files, name],
      listEntry: one.listEntry || ofFile === undefined,
      writtenAt: Math.max(one.writtenAt, writtenAt),
    })
  }
  return found
}

function findingOf([id, { files, listEntry, writtenAt }]: [string, StoredFiles]): Finding {
  return {
    tenant_id: null,
    subject: `files ${id}`,
    measured: { file: files.length > 0, list_entry: listEntry, entry: false },
    expected: { entry: true },
    since: new Date(writtenAt).toISOString(),
  }
}
