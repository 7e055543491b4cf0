/** Ends a rotation: destroys the old keys when no data uses them, or fails if some records cannot be re-encrypted. */
import type { KeyRotation, SealedTable, SealedTokens } from '../../platform/crypto/index.ts'
import type { Pacer, Scopes, TenantTx } from '../../platform/db/index.ts'
import { SYSTEM } from '../../platform/journal/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { note } from './encryption.service.ts'
import * as store from './re-encryption.store.ts'
import * as rotations from './rotations.store.ts'

/** The maximum number of search tokens deleted in one transaction. */
const TOKENS = 300

export interface EndDeps {
  db: Scopes
  log: Logger
  keys: KeyRotation
  sealed: readonly SealedTable[]
}

/** Throttles and interrupts the slow work at the end of a rotation. */
interface EndingControl {
  pacer: Pacer
  isStopping(): boolean
}

export interface End {
  /** Returns the open transactions for which the rotation must wait. Returns undefined if there are none. */
  waitsFor(rotation: rotations.Running): Promise<WaitingFor | undefined>
  /** Logs the oldest transaction for which the rotation waits. Logs each such transaction once. */
  logWaiting(waiting: WaitingFor): void
  /** Ends the rotation if only `failed` rows still use old keys. Returns false if it cannot end yet. */
  end(failed: number, control: EndingControl): Promise<boolean>
}

/** Open transactions that may still write with the old keys. `name` changes when one of them ends. */
export interface WaitingFor {
  name: string
  oldest: rotations.OpenTransaction | null
}

export function ending(deps: EndDeps): End {
  let logged = ''
  return {
    async waitsFor(rotation) {
      const earlier = (tx: TenantTx) => rotations.earlierWriters(tx, rotation)
      const { are, count, oldest } = await deps.db.acrossTenants(earlier, 'read')
      const { rotation_id, seen_at } = rotation
      return are ? { name: `${rotation_id} ${seen_at} ${count}`, oldest } : undefined
    },
    logWaiting({ oldest }) {
      const name = oldest ? `${oldest.pid} ${oldest.since}` : ''
      if (oldest && name !== logged)
        deps.log.info(oldest, 'key rotation is waiting for an older transaction')
      logged = name
    },
    end: (failed, control) => end(deps, failed, control),
  }
}

async function end(deps: EndDeps, failed: number, control: EndingControl): Promise<boolean> {
  const { db, sealed, keys } = deps
  const left = await db.acrossTenants((tx) => countLeft(tx, sealed), 'read')
  if (left !== failed) return false
  if (left === 0 && !(await deleteTokens(deps, control))) return false
  return db.acrossTenants(async (tx) => {
    await rotations.lockRotations(tx)
    const last = await rotations.findLatest(tx)
    // Another node already ended the rotation.
    if (last?.status !== 'running') return true
    if ((await countLeft(tx, sealed)) !== left) return false
    if (left === 0) await keys.end(tx)
    const status = left === 0 ? 'completed' : 'failed'
    const reason =
      left === 0 ? null : `${left} records could not be re-encrypted. The log lists them`
    const ended = await rotations.finishRotation(tx, last.rotation_id, {
      status,
      failed: left,
      reason,
    })
    await note(tx, SYSTEM, status, ended)
    return true
  })
}

async function countLeft(tx: TenantTx, sealed: readonly SealedTable[]): Promise<number> {
  let left = 0
  for (const { table } of sealed) left += await store.countLeft(tx, table)
  return left
}

/** Deletes the search tokens of all retired keys. Returns false if a shutdown interrupted the deletion. */
async function deleteTokens(deps: EndDeps, control: EndingControl): Promise<boolean> {
  for (const { tokens } of deps.sealed) {
    if (!tokens) continue
    let deleted: number
    do {
      deleted = await deleteOnce(deps, tokens, control)
      if (control.isStopping()) return false
      // Repeats the pass, because another node may have locked some of the tokens.
    } while (deleted > 0)
  }
  return true
}

/** Deletes the search tokens of all retired keys in one pass. Returns the number of deleted tokens. */
async function deleteOnce(
  { db }: EndDeps,
  tokens: SealedTokens,
  { pacer, isStopping }: EndingControl,
): Promise<number> {
  let deleted = 0
  for (const { id } of await db.acrossTenants((tx) => store.keysLeft(tx, tokens.table), 'read')) {
    let from: store.Position = null
    do {
      const behind: store.Position = from
      const some = (): Promise<store.DeletedTokens> =>
        db.acrossTenants((tx) => store.deleteOldTokens(tx, tokens, id, behind, TOKENS))
      const { count, last } = await pacer.own(some)
      if (isStopping()) return deleted + count
      deleted += count
      from = last
      await pacer.rest()
    } while (from !== null)
  }
  return deleted
}
