/** Loads patients' rows and opens them: the one way to a record outside a transaction of its own. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { gather } from '../../../lib/gather.ts'
import type { KeyRing } from '../../../platform/crypto/index.ts'
import { isPassing, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import { openRecord, type PatientRecord, type UnreadableRecord } from './record.ts'
import { listById } from './records.store.ts'

export type Loaded = PatientRecord | UnreadableRecord

/** Undefined where the tenant has no such patient, or has deleted them. Who sees them is asked elsewhere. */
export type LoadPatient = (tenantId: number, id: number) => Promise<Loaded | undefined>

/** Those of the ids who are the tenant's, by one query and with keys got once. */
export type LoadPatients = (tenantId: number, ids: readonly number[]) => Promise<Loaded[]>

/** Those of the ids who are there, of whichever tenant: for work that shows nobody anything. */
export type LoadAnybody = (ids: readonly number[]) => Promise<Loaded[]>

/** Some 2 ms of opening, after which others have their turn. */
const AT_A_TIME = 20
/** Of a tenant: one that hangs keeps no others, and what comes beyond them goes together. */
const LOADS_AT_ONCE = 4
/** Tenants whose patients are asked for together. */
const TENANTS = 1_000

interface Loader {
  one: LoadPatient
  many: LoadPatients
  anybody: LoadAnybody
}

export function loaderOf(db: Scopes, keyRing: KeyRing): Loader {
  const list = (ids: readonly number[]) => async (tx: TenantTx) => {
    const records: Loaded[] = []
    // Within the transaction, which is run again where it meets a key that is new to this node.
    for (const row of await listById(tx, ids)) {
      records.push(openRecord(await keyRing.ofTenant(tx, row.tenant_id), row))
      if (records.length % AT_A_TIME === 0) await nextTurn()
    }
    return records
  }
  const many: LoadPatients = (tenantId, ids) => db.inTenant(tenantId, list(ids), 'read')
  const gathered = new LRUCache<number, (id: number) => Promise<Loaded | undefined>>({
    max: TENANTS,
    memoMethod: (tenantId) =>
      gather(async (ids) => new Map((await many(tenantId, ids)).map((one) => [one.id, one])), {
        atOnce: LOADS_AT_ONCE,
        maxKeys: AT_A_TIME,
        mayBeOfOne: (error) => !isPassing(error),
      }),
  })
  return {
    one: async (tenantId, id) => gathered.memo(tenantId)(id),
    many,
    anybody: (ids) => db.acrossTenants(list(ids), 'read'),
  }
}
