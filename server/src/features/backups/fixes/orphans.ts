/** Files in the store that no entry tells of. */

import { DAY } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Finding, Fix } from '../../../platform/fix.ts'
import { idIn } from '../../../platform/subject.ts'
import { type AdoptDeps, adoptOne } from '../commands/adopt.ts'
import { entryIdOf, idOf, sidecarName } from '../file/names.ts'
import { knownOf } from '../schedule/schedule.store.ts'
import type { StoredObject } from '../stores/store.ts'
import { listed } from './listed.ts'

/** A backup has its entry before its files; those of one that is deleted go within moments. */
const OLD_MS = DAY

/** What the store holds of one backup. */
interface Held {
  /** Their names: one, or two of one that was just written anew. */
  files: string[]
  listEntry: boolean
  writtenAt: number
}

export function orphans(deps: AdoptDeps & { clock: Time }): Fix {
  const { store, clock } = deps
  const find = async (tx: TenantTx) => {
    const held = heldIn(await listed(store, clock))
    const known = await knownOf(tx, [...held.keys()])
    const before = clock.now() - OLD_MS
    const lost = [...held].filter(([id, { writtenAt }]) => !known.has(id) && writtenAt < before)
    if (lost.length === 0) return { lost, looked_at: held.size }
    // A backup that was deleted just then has lost its entry first.
    const again = heldIn(await listed(store, clock))
    return { lost: lost.filter(([id]) => again.has(id)), looked_at: held.size }
  }
  return {
    key: 'backups.orphans',
    title: 'Files lie in the store of backups that no entry tells of',
    description:
      'They take up room, and nobody sees them: a process died between its two steps, or the database was ' +
      'restored to a time before them. One with a list entry may be all that is left of a lost database.',
    severity: 'low',
    automatic: false,
    plan:
      'Enters a backup whose list entry lies beside its file into the list, as `wardkeep backup adopt` ' +
      'does; deletes a file, or a list entry, without the other.',
    runbook: 'backups.md',
    async detect(tx) {
      const { lost, looked_at } = await find(tx)
      return { findings: lost.map(findingOf), looked_at }
    },
    async repair(finding, repairing) {
      // Deleting a file goes by its age, and so by a clock that is right.
      await deps.db.agreedClock.read()
      const id = idIn(finding)
      const { lost } = await repairing(find)
      const held = lost.find(([one]) => one === id)?.[1]
      if (!held) return 'already gone'
      if (held.files.length > 0 && held.listEntry) {
        const reason = await adoptOne(deps, id)
        if (reason !== undefined) throw new Error(reason)
        return 'repaired'
      }
      for (const name of held.listEntry ? [sidecarName(id)] : held.files)
        if (!(await store.delete(name))) throw new Error('the store keeps it until its lock ends')
      return 'repaired'
    },
  }
}

function heldIn(objects: readonly StoredObject[]): Map<string, Held> {
  const found = new Map<string, Held>()
  for (const { name, writtenAt } of objects) {
    const ofFile = idOf(name)
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

function findingOf([id, { files, listEntry, writtenAt }]: [string, Held]): Finding {
  return {
    tenant_id: null,
    subject: `files ${id}`,
    measured: { file: files.length > 0, list_entry: listEntry, entry: false },
    expected: { entry: true },
    since: new Date(writtenAt).toISOString(),
  }
}
