/** What the releases before format 2 have sealed opens on: keys, signing keys, and every sealed column. */
import { createCipheriv, randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { SEALED } from '../../src/app.ts'
import { openSigningKeys } from '../../src/features/auth/tokens/signing-keys.service.ts'
import { openKeyRing, openSealer, placeIn } from '../../src/platform/crypto/index.ts'
import { keysFrom, nameOf, openSealingKey } from '../../src/platform/crypto/seal.ts'
import {
  furnishAccount,
  furnishMessenger,
  furnishPatient,
  furnishPayment,
  furnishWebhook,
} from '../isolation/furnish.ts'
import { unheard } from '../sessions/scopes.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'

/** What format 1 has bound a value to, where that is not the column's name: then `:` and the row. */
const BOUND_TO: Record<string, string> = {
  'second_factors.sealed_secret': 'second_factors.secret',
  'webhook_secrets.sealed_secret': 'webhook_secrets.secret',
}

let service: Service

beforeAll(async () => {
  service = await openService({ background: ['payments'] })
  const clinic = await makeClinic(service, await superadmin(service), 'north')
  await furnishAccount(service, clinic.people.auditor)
  await furnishMessenger(service, clinic.people.nurse)
  await furnishWebhook(service, clinic)
  await furnishPatient(service, clinic)
  await furnishPayment(service, clinic)
})

/** AES-256-GCM as format 1 had it, behind the id of a data key. */
function sealOld(key: Buffer, secret: Uint8Array, boundTo: string, id?: number): Buffer {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keysFrom(key)('seal'), iv)
  cipher.setAAD(Buffer.from(boundTo))
  const text = Buffer.concat([cipher.update(secret), cipher.final()])
  const name = id === undefined ? [] : [nameOf(id)]
  return Buffer.concat([...name, Buffer.of(1), iv, text, cipher.getAuthTag()])
}

interface DataKey {
  id: number
  tenant_id: number
  key: Buffer
}

/** Seals the wrapped keys anew in format 1. Returns the data keys. */
async function wrapOld(): Promise<DataKey[]> {
  const { sql } = service.database
  const [row] = await sql<{ id: number; wrapped_key: Buffer }>('select * from key_encryption_keys')
  if (!row) throw new Error('there is no key-encryption key')
  const keyPlace = (table: string, id: number) => ({ table, column: 'wrapped_key', row: id })
  const kek = openSealer(ROOT_KEY).open(row.wrapped_key, keyPlace('key_encryption_keys', row.id))
  const wrapped = sealOld(ROOT_KEY, kek, `key_encryption_keys.wrapped_key:${row.id}`)
  await sql('update key_encryption_keys set wrapped_key = $1', [wrapped])
  const rows = await sql<{ id: number; tenant_id: number; wrapped_key: Buffer }>(
    'select id, tenant_id, wrapped_key from data_keys',
  )
  const keys = rows.map(({ id, tenant_id, wrapped_key }) => {
    const place = keyPlace('data_keys', tenant_id)
    return { id, tenant_id, key: openSealingKey(kek, nameOf(row.id)).open(wrapped_key, place) }
  })
  for (const { id, tenant_id, key } of keys)
    await sql('update data_keys set wrapped_key = $1 where id = $2', [
      sealOld(kek, key, `data_keys.wrapped_key:${tenant_id}`),
      id,
    ])
  return keys
}

test('every sealed column of every row, under keys that are wrapped in it as well', async () => {
  const { sql } = service.database
  const keys = await wrapOld()
  const ring = await openKeyRing(service.app.db, openSealer(ROOT_KEY), unheard)
  for (const sealed of SEALED) {
    const { table, id, row = id.column, columns } = sealed
    const rows = await sql<Record<string, any>>(`select *, ${row} as named from ${table}`)
    for (const one of rows) {
      const by = keys.find((key) => key.id === one.data_key_id) as DataKey
      const places = columns.filter((column) => one[column] !== null)
      const plain = places.map((column) =>
        openSealingKey(by.key, nameOf(by.id)).open(
          one[column],
          placeIn(sealed, column, one.named),
          by.tenant_id,
        ),
      )
      const old = places.map((column, index) => {
        const boundTo = BOUND_TO[`${table}.${column}`] ?? `${table}.${column}`
        return sealOld(by.key, plain[index] as Buffer, `${boundTo}:${one.named}`, by.id)
      })
      const set = places.map((column, index) => `${column} = $${index + 2}`).join(', ')
      const [after] = await sql<Record<string, any>>(
        `update ${table} set ${set} where ${id.column} = $1 returning *`,
        [one[id.column], ...old],
      )
      expect(after?.data_key_id, table).toBe(by.id)
      const opened = await service.app.db.acrossTenants((tx) => ring.ofTenant(tx, by.tenant_id))
      expect(
        places.map((column) => opened.open(after?.[column], placeIn(sealed, column, one.named))),
        table,
      ).toEqual(plain)
    }
  }
})

test('the signing key', async () => {
  const { sql } = service.database
  const [row] = await sql<{ kid: string; sealed_private_key: Buffer }>('select * from signing_keys')
  if (!row) throw new Error('there is no signing key')
  const place = { table: 'signing_keys', column: 'sealed_private_key', row: row.kid }
  const plain = openSealer(ROOT_KEY).open(row.sealed_private_key, place)
  await sql('update signing_keys set sealed_private_key = $1', [
    sealOld(ROOT_KEY, plain, `signing_keys.private_key:${row.kid}`),
  ])
  const sealer = openSealer(ROOT_KEY)
  const { db } = service.app
  const keys = await openSigningKeys(db, unheard, sealer, service.clock, silentLog)
  expect(keys.signer().kid).toBe(row.kid)
})
