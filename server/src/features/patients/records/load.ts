/** Loads and decrypts patients for callers that have no transaction of their own. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { gather } from '../../../lib/gather.ts'
import type { KeyRing } from '../../../platform/crypto/index.ts'
import { isPassing, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import { openRecord, type PatientRecord, type UnreadableRecord } from './record.ts'
import { listById } from './records.store.ts'

export type Loaded = PatientRecord | UnreadableRecord

/** Loads a patient. Returns undefined if unknown or deleted. Does not check access rights. */
export type LoadPatient = (tenantId: number, id: number) => Promise<Loaded | undefined>

/** Loads the requested patients that belong to the tenant. Uses one query for the rows and one for the keys. */
export type LoadPatients = (tenantId: number, ids: readonly number[]) => Promise<Loaded[]>

/** Loads the requested patients that exist, in any tenant. Only for work that never shows patient data. */
export type LoadAnybody = (ids: readonly number[]) => Promise<Loaded[]>

/** The number of records decrypted in one turn of the event loop, which takes about 2 ms. */
const AT_A_TIME = 20
/** The concurrent queries per tenant, so that a slow query blocks no others. Further requests share one query. */
const LOADS_AT_ONCE = 4
/** The maximum number of tenants whose requests can be combined. */
const TENANTS = 1_000

interface Loader {
  one: LoadPatient
  many: LoadPatients
  anybody: LoadAnybody
}

export function loaderOf(db: Scopes, keyRing: KeyRing): Loader {
  const list = (ids: readonly number[]) => async (tx: TenantTx) => {
    const records: Loaded[] = []
    // Decrypts inside the transaction. If this node does not have the data key yet, the transaction is retried.
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
