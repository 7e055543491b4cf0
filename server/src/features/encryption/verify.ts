/** Verifies that all encrypted data can be decrypted. The service may keep running. */
import {
  type DataKey,
  openStoredKey,
  orUnreadable,
  placeIn,
  type RootSealed,
  type SealedTable,
  type Sealer,
  UnreadableError,
  type Verified,
  verifyRootSealed,
} from '../../platform/crypto/index.ts'
import type { Scopes } from '../../platform/db/index.ts'
import type { Position } from './re-encryption.store.ts'
import * as store from './verify.store.ts'

const BATCH = 500

export interface VerifyDeps {
  db: Scopes
  sealer: Sealer
  /** The tables whose columns are encrypted with data keys. */
  sealed: readonly SealedTable[]
  /** The tables whose values are encrypted directly with the root key. */
  rootSealed: readonly RootSealed[]
}

/** Receives the number of rows of a table that have been verified so far. */
export type OnRows = (table: string, rows: number) => void

/** Verifies all tables, and yields the result of each. A key that cannot be decrypted does not end the verification. */
export async function* verifySealed(deps: VerifyDeps, onRows: OnRows): AsyncGenerator<Verified> {
  for (const sealed of deps.rootSealed)
    yield verifyRootSealed(deps.db, deps.sealer, sealed, (rows) => onRows(sealed.table, rows))
  yield verifyDataKeys(deps)
  for (const table of deps.sealed) yield verifyTable(deps, table, onRows)
}

async function verifyDataKeys({ db, sealer }: VerifyDeps): Promise<Verified> {
  const keys = await db.acrossTenants(store.listFoundKeys, 'read')
  const unreadable = keys.flatMap(({ wrapped_kek, ...key }) => {
    if (wrapped_kek === null)
      return [`data key ${key.id} of tenant ${key.tenant_id}: ${withoutKek(key.kek_id)}`]
    const opened = openKey(sealer, { ...key, wrapped_kek })
    if (!(opened instanceof UnreadableError)) return []
    return [`data key ${key.id} of tenant ${key.tenant_id}: ${opened.message}`]
  })
  const { length } = keys
  return { table: 'data_keys', rows: length, values: length, failed: unreadable.length, unreadable }
}

async function verifyTable(
  { db, sealer }: VerifyDeps,
  sealed: SealedTable,
  onRows: OnRows,
): Promise<Verified> {
  const found = { rows: 0, values: 0, faults: [] as string[], byKey: new Map<string, number>() }
  for (let after: Position = null; ; ) {
    const from: Position = after
    const rows: store.WholeRow[] = await db.acrossTenants(
      (tx) => store.nextRows(tx, sealed, from, BATCH),
      'read',
    )
    const keyOf = openedOnce(sealer)
    for (const row of rows) {
      const values = sealed.columns.filter((column) => row[column] !== null)
      found.values += values.length
      const key = keyOf(row)
      if (typeof key === 'string') found.byKey.set(key, (found.byKey.get(key) ?? 0) + values.length)
      else found.faults.push(...faultsOf(sealed, row, key, values))
    }
    found.rows += rows.length
    onRows(sealed.table, found.rows)
    if (rows.length < BATCH) return resultOf(sealed.table, found)
    after = rows.at(-1)?.$id ?? null
  }
}

interface Found {
  rows: number
  values: number
  /** The error messages of values that cannot be decrypted although their data key can. */
  faults: readonly string[]
  /** The number of affected values for each data key that cannot be decrypted. */
  byKey: ReadonlyMap<string, number>
}

function resultOf(table: string, { rows, values, faults, byKey }: Found): Verified {
  const lost = [...byKey].map(([key, count]) => `${count} values of ${table} need ${key}`)
  const failed = faults.length + byKey.values().reduce((sum, count) => sum + count, 0)
  return { table, rows, values, failed, unreadable: [...faults, ...lost] }
}

/** Returns a function that decrypts each row's data key once. If that fails, it returns a description of the key. */
function openedOnce(sealer: Sealer): (row: store.WholeRow) => DataKey | string {
  const keys = new Map<number | null, DataKey | string>()
  return ({ $key, $tenant, $wrapped, $kek, $wrapped_kek }) => {
    if ($key === null) return `a missing data key of tenant ${$tenant}`
    if ($wrapped_kek === null) return `data key ${$key} of tenant ${$tenant}: ${withoutKek($kek)}`
    const known = keys.get($key)
    if (known) return known
    const stored = { id: $key, wrapped_key: $wrapped, kek_id: $kek, wrapped_kek: $wrapped_kek }
    const opened = openKey(sealer, { ...stored, tenant_id: $tenant })
    const key =
      opened instanceof UnreadableError
        ? `data key ${$key} of tenant ${$tenant}, which cannot be decrypted`
        : opened
    keys.set($key, key)
    return key
  }
}

const withoutKek = (id: number) => `its key-encryption key ${id} is missing`

function openKey(sealer: Sealer, key: store.OwnedKey): DataKey | UnreadableError {
  return orUnreadable(() => openStoredKey(sealer, key.tenant_id, key))
}

function faultsOf(
  sealed: SealedTable,
  row: store.WholeRow,
  { sealing }: DataKey,
  values: readonly string[],
): string[] {
  return values.flatMap((column) => {
    const place = placeIn(sealed, column, row.$row)
    const opened = orUnreadable(() => sealing.open(row[column] as Buffer, place, row.$tenant))
    return opened instanceof UnreadableError ? [opened.message] : []
  })
}
