/** Starts key rotations and reports their progress. */
import { Problem } from '../../lib/problems.ts'
import type { Caller } from '../../platform/access/index.ts'
import type { KeyRotation, SealedTable } from '../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../platform/db/index.ts'
import { type Actor, actorOf, append, ordererOf } from '../../platform/journal/index.ts'
import { eventTenantId } from '../tenants/index.ts'
import type { EncryptionKeys, Rotation, RotationStatus } from './encryption.schema.ts'
import { describeKeys } from './keys.store.ts'
import { areLeft } from './re-encryption.store.ts'
import * as store from './rotations.store.ts'

export interface Encryption {
  /**
   * Starts a key rotation. Without a key, resumes the latest rotation if it failed.
   * @throws Problem 409 if a rotation is running or the key is already in use
   */
  rotate(caller: Caller, key: Buffer | undefined): Promise<Rotation>
  status(): Promise<RotationStatus>
  /** Describes the keys, without their bytes. */
  keys(): Promise<EncryptionKeys>
}

const IDLE: Rotation = {
  rotation_id: null,
  status: 'idle',
  key_id: null,
  records_total: 0,
  records_done: 0,
  records_failed: 0,
  reason: null,
  started_at: null,
  finished_at: null,
}

export function encryptionService(deps: {
  db: Scopes
  keys: KeyRotation
  sealed: readonly SealedTable[]
}): Encryption {
  const { db, keys, sealed } = deps

  async function begin(tx: TenantTx, key: Buffer | undefined, by: Actor): Promise<Rotation> {
    const last = await store.findLatest(tx)
    if (last?.status === 'running') throw new Problem('rotation_running')
    if (last?.status === 'failed' && key === undefined) {
      tx.invalidate('keys')
      return store.resume(tx, last.rotation_id)
    }
    const total = await store.countSealed(tx, sealed)
    const key_id = await keys.begin(tx, key)
    if (key_id === undefined) throw new Problem('key_in_use')
    return store.insertRotation(tx, { keyId: key_id, total, actor: ordererOf(by) })
  }

  /** Returns the transaction for which the rotation waits; null if there is none or data is left to re-encrypt. */
  async function waitsFor(tx: TenantTx): Promise<RotationStatus['waits_for']> {
    const running = await store.findObservedRotation(tx)
    const tables = sealed.map(({ table }) => table)
    if (!running || (await areLeft(tx, tables))) return null
    return (await store.earlierWriters(tx, running)).oldest
  }

  return {
    rotate: (caller, key) =>
      db.acrossTenants(async (tx) => {
        // Waits for a concurrent call, and then sees the rotation that the other call has started.
        await store.lockRotations(tx)
        const actor = actorOf(caller)
        const rotation = await begin(tx, key, actor)
        await note(tx, actor, 'started', rotation)
        return rotation
      }),
    status: () =>
      db.acrossTenants(async (tx) => {
        const last = (await store.findLatest(tx)) ?? IDLE
        return { ...last, waits_for: last.status === 'running' ? await waitsFor(tx) : null }
      }, 'read'),
    keys: () => db.acrossTenants((tx) => describeKeys(tx, sealed), 'read'),
  }
}

/** Records the start or end of a rotation in the journal. */
export async function note(
  tx: TenantTx,
  actor: Actor,
  what: 'started' | 'completed' | 'failed',
  { rotation_id, key_id, records_total, records_done, records_failed }: Rotation,
): Promise<void> {
  const counts = {
    started: { records_total },
    completed: { records_done },
    failed: { records_done, records_failed },
  }
  await append(tx, actor, {
    action: `encryption.rotation_${what}`,
    tenant_id: await eventTenantId(tx),
    resource_type: 'encryption',
    resource_id: rotation_id,
    changes: { key_id, ...counts[what] },
  })
}
