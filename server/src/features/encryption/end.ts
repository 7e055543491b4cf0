/** The end of a rotation: nothing is left under the old keys, and they go; or what is left cannot be helped. */
import type { KeyRotation, SealedTable, SealedTokens } from '../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../platform/db/index.ts'
import { SYSTEM } from '../../platform/journal/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { note } from './encryption.service.ts'
import type { Pace } from './pace.ts'
import * as rotations from './rotations.store.ts'
import * as store from './sweep.store.ts'

/** Deleted in one transaction. */
const TOKENS = 300

export interface EndDeps {
  db: Scopes
  log: Logger
  keys: KeyRotation
  sealed: readonly SealedTable[]
}

/** How the end goes about what takes long. */
interface Going {
  pace: Pace
  isStopping(): boolean
}

export interface End {
  /** Those whom the rotation waits for, by a name of them all; undefined once they are done. */
  waitsFor(rotation: rotations.Running): Promise<Waiting | undefined>
  /** Tells once of a transaction that it waits for. */
  tell(waiting: Waiting): void
  /** Ends a rotation where nothing is left but `failed` rows that cannot be sealed anew. Returns whether it has. */
  end(failed: number, going: Going): Promise<boolean>
}

/** Some may still write by the old keys: as long as these are the same, the name is. */
export interface Waiting {
  name: string
  oldest: rotations.OpenTransaction | null
}

export function ending(deps: EndDeps): End {
  let told = ''
  return {
    async waitsFor(rotation) {
      const earlier = (tx: TenantTx) => rotations.earlierWriters(tx, rotation)
      const { are, count, oldest } = await deps.db.acrossTenants(earlier, 'read')
      const { rotation_id, seen_at } = rotation
      return are ? { name: `${rotation_id} ${seen_at} ${count}`, oldest } : undefined
    },
    tell({ oldest }) {
      const name = oldest ? `${oldest.pid} ${oldest.since}` : ''
      if (oldest && name !== told)
        deps.log.info(oldest, 'a rotation of keys waits for a transaction that began before it')
      told = name
    },
    end: (failed, going) => end(deps, failed, going),
  }
}

async function end(deps: EndDeps, failed: number, going: Going): Promise<boolean> {
  const { db, sealed, keys } = deps
  const left = await db.acrossTenants((tx) => countLeft(tx, sealed), 'read')
  if (left !== failed) return false
  if (left === 0 && !(await deleteTokens(deps, going))) return false
  return db.acrossTenants(async (tx) => {
    await rotations.lockRotations(tx)
    const last = await rotations.findLatest(tx)
    // Another node has ended it.
    if (last?.status !== 'running') return true
    if ((await countLeft(tx, sealed)) !== left) return false
    if (left === 0) await keys.end(tx)
    const status = left === 0 ? 'completed' : 'failed'
    const reason = left === 0 ? null : `${left} records cannot be sealed anew; the log names them`
    const ended = await rotations.finish(tx, last.rotation_id, { status, failed: left, reason })
    await note(tx, SYSTEM, status, ended)
    return true
  })
}

async function countLeft(tx: TenantTx, sealed: readonly SealedTable[]): Promise<number> {
  let left = 0
  for (const { table } of sealed) left += await store.countLeft(tx, table)
  return left
}

/** Returns whether all are gone: a stop does not wait for them. */
async function deleteTokens(deps: EndDeps, going: Going): Promise<boolean> {
  for (const { tokens } of deps.sealed) {
    if (!tokens) continue
    let deleted: number
    do {
      deleted = await deleteOnce(deps, tokens, going)
      if (going.isStopping()) return false
      // Once more from the first, as another node may have held some of them.
    } while (deleted > 0)
  }
  return true
}

/** Goes once through the tokens of all retired keys, from the first to the last. Returns how many are deleted. */
async function deleteOnce(
  { db }: EndDeps,
  tokens: SealedTokens,
  { pace, isStopping }: Going,
): Promise<number> {
  let deleted = 0
  for (const { id } of await db.acrossTenants((tx) => store.keysLeft(tx, tokens.table), 'read')) {
    let from: store.Position = null
    do {
      const behind: store.Position = from
      const some = (): Promise<store.DeletedTokens> =>
        db.acrossTenants((tx) => store.deleteTokens(tx, tokens, id, behind, TOKENS))
      const { count, last } = await pace.work(some)
      if (isStopping()) return deleted + count
      deleted += count
      from = last
      await pace.rest()
    } while (from !== null)
  }
  return deleted
}
