/** The registry of encrypted columns is complete, and the database enforces it. */
import { beforeAll, describe, expect, test } from 'vitest'
import { ROOT_SEALED, SEALED } from '../../src/open-features.ts'
import {
  type KeyRing,
  openKeyRing,
  openSealer,
  placeIn,
  type SealedTable,
} from '../../src/platform/crypto/index.ts'
import {
  furnishAccount,
  furnishMessenger,
  furnishPatient,
  furnishPayment,
  furnishWebhook,
} from '../isolation/furnish.ts'
import { unheard } from '../sessions/scopes.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'

/** Binary columns that are not encrypted with a data key or the root key, with the reason. */
const OTHERS: Record<string, string> = {
  'refresh_tokens.token_hash': 'a hash',
  'refresh_tokens.successor_salt': 'worthless without the token that it belongs to',
  'account_tokens.token_hash': 'a hash',
  'download_tickets.token_hash': 'a hash',
  'recovery_codes.code_hash': 'a hash',
  'throttles.key': 'a hash',
  'messenger_chats.hash': 'a keyed hash',
  'messenger_codes.chat_hash': 'a keyed hash',
  'messenger_codes.code_hash': 'a keyed hash',
  'messenger_replies.chat_hash': 'a keyed hash',
  'messenger_links.chat_hash': 'a keyed hash',
  'journal.who_salt': 'worthless without the entry that it belongs to',
  'journal.what_salt': 'worthless without the entry that it belongs to',
  'journal.mac': 'a keyed hash',
  'audit_logs.head_root': 'a hash',
  'audit_leaves.who_salt': 'worthless without the entry that it belongs to',
  'audit_leaves.what_salt': 'worthless without the entry that it belongs to',
  'audit_tiles.hashes': 'hashes',
  'audit_keys.public_key': 'public',
  'data_keys.wrapped_key': 'sealed by a key-encryption key',
}

let service: Service

beforeAll(async () => {
  service = await openService({ background: ['payments'] })
})

test('the registry of encrypted columns contains each binary column, except those listed here with a reason', async () => {
  const rows = await service.database.sql<{ name: string }>(
    `select c.relname || '.' || a.attname as name
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
       and not c.relispartition and a.atttypid = 'bytea'::regtype and not a.attisdropped`,
  )
  const registered = SEALED.flatMap(({ table, columns, tokens }) => [
    ...columns.map((column) => `${table}.${column}`),
    ...(tokens ? [`${tokens.table}.token`] : []),
  ])
  const byRoot = ROOT_SEALED.filter(({ json }) => !json).map(
    ({ table, column }) => `${table}.${column}`,
  )
  expect(rows.map(({ name }) => name).sort()).toEqual(
    [...registered, ...byRoot, ...Object.keys(OTHERS)].sort(),
  )
})

test('the registry of encrypted columns is not empty, and contains each table once', () => {
  const tables = SEALED.map(({ table }) => table)
  expect(tables).toEqual(expect.arrayContaining(['second_factors', 'payment_notifications']))
  expect(new Set(tables).size).toBe(tables.length)
})

describe('a table in the registry of encrypted columns', () => {
  const definitionsOf = async (table: string) => {
    const { sql } = service.database
    const constraints = await sql<{ name: string; text: string }>(
      `select conname as name, pg_get_constraintdef(oid) as text from pg_constraint
       where conrelid = $1::regclass`,
      [table],
    )
    const columns = await sql<{ name: string; type: string; made: string | null; must: boolean }>(
      `select a.attname as name, format_type(a.atttypid, null) as type, a.attnotnull as must,
         pg_get_expr(d.adbin, d.adrelid) as made
       from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
       where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped`,
      [table],
    )
    const indexes = await sql<{ text: string }>(
      'select pg_get_indexdef(indexrelid) as text from pg_index where indrelid = $1::regclass',
      [table],
    )
    return {
      constraint: (name: string) => constraints.find((one) => one.name === name)?.text,
      texts: constraints.map(({ text }) => text),
      column: (name: string) => columns.find((one) => one.name === name),
      indexes: indexes.map(({ text }) => text),
    }
  }

  test('records in each row the key of its encrypted bytes, and that key cannot be deleted before the row', async () => {
    for (const { table, columns, id } of SEALED) {
      const has = await definitionsOf(table)
      const [first, ...others] = columns
      expect(has.column('data_key_id'), table).toEqual({
        name: 'data_key_id',
        type: 'bigint',
        made: `sealed_by(${first})`,
        must: true,
      })
      expect(has.constraint(`${table}__data_key`), table).toMatch(
        /^FOREIGN KEY \(data_key_id\) REFERENCES data_keys\(id\) DEFERRABLE$/,
      )
      for (const column of others)
        expect(has.constraint(`${table}__${column}_key`), column).toBe(
          `CHECK ((sealed_by(${column}) = data_key_id))`,
        )
      expect(has.indexes.join('\n')).toContain(`(data_key_id, ${id.column})`)
    }
  })

  test('has the columns that the registry names', async () => {
    for (const { table, id, row = id.column, columns } of SEALED) {
      const has = await definitionsOf(table)
      expect(has.texts, table).toContain(`PRIMARY KEY (${id.column})`)
      expect(has.column(id.column)?.type, table).toBe(id.type)
      expect(has.column(row), `${table}.${row}`).toMatchObject({ must: true })
      expect(has.column('tenant_id'), table).toBeDefined()
      for (const column of columns) expect(has.column(column)?.type, column).toBe('bytea')
    }
  })

  test('records a key for each token of its blind index, and that key cannot be deleted before the token', async () => {
    for (const { tokens } of SEALED) {
      if (!tokens) continue
      const has = await definitionsOf(tokens.table)
      expect(has.texts.join('\n'), tokens.table).toMatch(
        /FOREIGN KEY \(data_key_id\) REFERENCES data_keys/,
      )
      expect(has.indexes.join('\n'), tokens.table).toContain(`(data_key_id, ${tokens.of})`)
    }
  })
})

describe('a value encrypted by the service', () => {
  interface Row extends Record<string, unknown> {
    id: string
    row: string | number
    tenant: number
  }

  let ring: KeyRing

  beforeAll(async () => {
    const clinic = await makeClinic(service, await superadmin(service), 'north')
    await furnishAccount(service, clinic.people.auditor)
    await furnishMessenger(service, clinic.people.nurse)
    await furnishWebhook(service, clinic)
    await furnishPatient(service, clinic)
    await furnishPayment(service, clinic)
    ring = await openKeyRing(service.app.db, openSealer(ROOT_KEY), unheard)
  })

  const rowsOf = ({ table, id, row = id.column, columns }: SealedTable) =>
    service.database.sql<Row>(
      `select ${id.column}::text as id, ${row} as row, ${columns.join(', ')},
         coalesce(tenant_id, (select id from tenants where is_platform)) as tenant
       from ${table}`,
    )

  /** Decrypts the column of a row as if it were in another place. */
  async function open(
    sealed: SealedTable,
    row: Row,
    at: { tenant?: number; column?: string; row?: string | number; from?: string },
  ): Promise<Buffer> {
    const column = at.column ?? (sealed.columns[0] as string)
    const keys = await service.app.db.acrossTenants((tx) =>
      ring.ofTenant(tx, at.tenant ?? row.tenant),
    )
    const bytes = row[at.from ?? column] as Buffer
    return keys.open(bytes, placeIn(sealed, column, at.row ?? row.row))
  }

  test('decrypts with the row, column and tenant of the registry, for each column of each row', async () => {
    for (const sealed of SEALED) {
      const rows = await rowsOf(sealed)
      expect(rows.length, sealed.table).toBeGreaterThan(0)
      for (const row of rows)
        for (const column of sealed.columns)
          if (row[column] !== null)
            expect((await open(sealed, row, { column })).length, column).toBeGreaterThan(0)
    }
  })

  test('does not decrypt with any other row, column or tenant', async () => {
    const other = await makeClinic(service, await superadmin(service), 'south')
    await furnishAccount(service, other.people.auditor)
    for (const sealed of SEALED) {
      const [row] = await rowsOf(sealed)
      if (!row) throw new Error(`${sealed.table} is empty`)
      const nowhere = /cannot be decrypted/
      await expect(open(sealed, row, { row: 'another' })).rejects.toThrow(nowhere)
      await expect(open(sealed, row, { tenant: other.id })).rejects.toThrow(nowhere)
      for (const from of sealed.columns.slice(1))
        if (row[from]) await expect(open(sealed, row, { from })).rejects.toThrow(nowhere)
    }
  })
})
