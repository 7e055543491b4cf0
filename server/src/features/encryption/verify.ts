/** Opens everything that is sealed, beside a running service, to find what does not open. */
import {
  type KeyRing,
  placeIn,
  type RootSealed,
  type SealedTable,
  type Sealer,
  type TenantKeys,
  UnreadableError,
  type Verified,
  verifyRootSealed,
} from '../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../platform/db/index.ts'
import type { Position } from './sweep.store.ts'
import * as store from './verify.store.ts'

const BATCH = 500

export interface VerifyDeps {
  db: Scopes
  keyRing: KeyRing
  sealer: Sealer
  /** All that data keys seal. */
  sealed: readonly SealedTable[]
  /** All that the root key seals. */
  rootSealed: readonly RootSealed[]
}

/** Told of the rows of a table that have been looked at. */
export type OnRows = (table: string, rows: number) => void

/** Yields what came of each table. */
export async function* verifySealed(deps: VerifyDeps, onRows: OnRows): AsyncGenerator<Verified> {
  for (const sealed of deps.rootSealed)
    yield verifyRootSealed(deps.db, deps.sealer, sealed, (rows) => onRows(sealed.table, rows))
  yield verifyDataKeys(deps)
  for (const table of deps.sealed) yield verifyTable(deps, table, onRows)
}

async function verifyDataKeys({ db, keyRing }: VerifyDeps): Promise<Verified> {
  const tenants = await db.acrossTenants(store.keyedTenants, 'read')
  const unreadable: string[] = []
  for (const { tenant_id } of tenants) {
    const why = await db.acrossTenants(async (tx) => {
      const keys = await keysOf(keyRing, tx, tenant_id)
      return keys instanceof UnreadableError ? keys.message : undefined
    }, 'read')
    if (why) unreadable.push(why)
  }
  const rows = tenants.reduce((sum, { keys }) => sum + keys, 0)
  return { table: 'data_keys', rows, values: rows, unreadable }
}

async function verifyTable(
  { db, keyRing }: VerifyDeps,
  sealed: SealedTable,
  onRows: OnRows,
): Promise<Verified> {
  const { table } = sealed
  const unreadable: string[] = []
  const count = { rows: 0, values: 0 }
  for (let after: Position = null; ; ) {
    const from: Position = after
    const batch = await db.acrossTenants(async (tx) => {
      const rows = await store.nextRows(tx, sealed, from, BATCH)
      const faults: string[] = []
      for (const row of rows)
        faults.push(...faultsOf(sealed, row, await keysOf(keyRing, tx, row.$tenant)))
      return { rows, faults }
    }, 'read')
    unreadable.push(...batch.faults)
    count.rows += batch.rows.length
    for (const row of batch.rows)
      count.values += sealed.columns.filter((column) => row[column] !== null).length
    onRows(table, count.rows)
    if (batch.rows.length < BATCH) return { table, ...count, unreadable }
    after = batch.rows.at(-1)?.$id ?? null
  }
}

/** A tenant's keys, or why they do not open. */
async function keysOf(
  keyRing: KeyRing,
  tx: TenantTx,
  tenantId: number,
): Promise<TenantKeys | UnreadableError> {
  try {
    return await keyRing.ofTenant(tx, tenantId)
  } catch (error) {
    if (error instanceof UnreadableError) return error
    throw error
  }
}

function faultsOf(
  sealed: SealedTable,
  row: store.WholeRow,
  keys: TenantKeys | UnreadableError,
): string[] {
  const faults: string[] = []
  for (const column of sealed.columns) {
    const value = row[column]
    if (!Buffer.isBuffer(value)) continue
    const place = placeIn(sealed, column, row.$row)
    try {
      if (keys instanceof UnreadableError)
        throw new UnreadableError(place, 'the keys of its tenant do not open')
      keys.open(value, place)
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      faults.push(error.message)
    }
  }
  return faults
}
