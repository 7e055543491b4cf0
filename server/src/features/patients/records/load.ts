/** Loads patients' rows and opens them: the one way to a record outside a transaction of its own. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { KeyRing } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { openRecord, type PatientRecord, type UnreadableRecord } from './record.ts'
import { findPatient, listById } from './records.store.ts'

export type Loaded = PatientRecord | UnreadableRecord

/** Undefined where the tenant has no such patient, or has deleted them. Who sees them is asked elsewhere. */
export type LoadPatient = (tenantId: number, id: number) => Promise<Loaded | undefined>

/** Those of the ids who are the tenant's, by one query and with keys got once. */
export type LoadPatients = (tenantId: number, ids: readonly number[]) => Promise<Loaded[]>

/** Those of the ids who are there, of whichever tenant: for work that shows nobody anything. */
export type LoadAnybody = (ids: readonly number[]) => Promise<Loaded[]>

/** Some 2 ms of opening, after which others have their turn. */
const AT_A_TIME = 20

interface Loader {
  one: LoadPatient
  many: LoadPatients
  anybody: LoadAnybody
}

export function loaderOf(db: Scopes, keyRing: KeyRing): Loader {
  const keysOf = (tx: TenantTx) => keyRing.ofTenant(tx, tx.tenantId as number)
  const find = (id: number) => async (tx: TenantTx) => {
    const [keys, row] = await Promise.all([keysOf(tx), findPatient(tx, id)])
    return row && openRecord(keys, row)
  }
  const list = (ids: readonly number[]) => async (tx: TenantTx) => {
    const records: Loaded[] = []
    // Within the transaction, which is run again where it meets a key that is new to this node.
    for (const row of await listById(tx, ids)) {
      records.push(openRecord(await keyRing.ofTenant(tx, row.tenant_id), row))
      if (records.length % AT_A_TIME === 0) await nextTurn()
    }
    return records
  }
  return {
    one: (tenantId, id) => db.inTenant(tenantId, find(id), 'read'),
    many: (tenantId, ids) => db.inTenant(tenantId, list(ids), 'read'),
    anybody: (ids) => db.acrossTenants(list(ids), 'read'),
  }
}
