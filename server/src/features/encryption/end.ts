/** The end of a rotation: nothing is left under the old keys, and they go; or what is left cannot be helped. */
import type { KeyRotation, SealedTable } from '../../platform/crypto/index.ts'
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

/** Ends a rotation where nothing is left but `failed` rows that cannot be sealed anew. Returns whether it has. */
export type End = (rotation: rotations.Running, failed: number, going: Going) => Promise<boolean>

/** The end of rotations, which tells once of each transaction that it waits for. */
export function ending(deps: EndDeps): End {
  let told = ''
  return async (rotation, failed, going) => {
    const earlier = (tx: TenantTx) => rotations.earlierWriters(tx, rotation)
    const { are, oldest } = await deps.db.acrossTenants(earlier, 'read')
    const name = oldest ? `${rotation.rotation_id} ${oldest.pid} ${oldest.since}` : ''
    if (oldest && name !== told)
      deps.log.info(oldest, 'a rotation of keys waits for a transaction that began before it')
    told = name
    return are ? false : end(deps, failed, going)
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
async function deleteTokens(
  { db, sealed }: EndDeps,
  { pace, isStopping }: Going,
): Promise<boolean> {
  for (const { tokens } of sealed) {
    if (!tokens) continue
    const some = () => db.acrossTenants((tx) => store.deleteTokens(tx, tokens.table, TOKENS))
    while (await pace.work(some)) {
      if (isStopping()) return false
      await pace.rest()
    }
  }
  return true
}
