/** The key ring on a real database: one key a tenant whoever comes first, and nothing opens elsewhere. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { gate, scopesOf } from '../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import type { Scopes } from '../db/index.ts'
import { type KeyRing, openKeyRing } from './key-ring.ts'
import { openSealer } from './seal.ts'

const ROOT = openSealer(Buffer.alloc(32, 1))
const SECRET = Buffer.from('the secret of a test')
const PLACE = 'second_factors.secret:7'

let database: TestDatabase
let db: Scopes
let ring: KeyRing
let tenant: number
let made = 0

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
})

beforeEach(async () => {
  ring = await openKeyRing(db, ROOT)
  tenant = await newTenant()
})

async function newTenant(): Promise<number> {
  made += 1
  const [row] = await database.sql<{ id: number }>(
    'insert into tenants (name, subdomain) values ($1, $1) returning id',
    [`clinic-${made}`],
  )
  return Number(row?.id)
}

const seal = (by = ring, tenantId = tenant) =>
  db.inTenant(tenantId, (tx) => by.seal(tx, tenantId, SECRET, PLACE))
const open = (sealed: Uint8Array, by = ring, tenantId = tenant, place = PLACE) =>
  db.inTenant(tenantId, (tx) => by.open(tx, tenantId, sealed, place), 'read')
const dataKeys = () =>
  database.sql<{ id: number }>('select id from data_keys where tenant_id = $1', [tenant])

describe('the first start', () => {
  test('makes one key-encryption key, of eight nodes at once too, and all use it', async () => {
    const empty = await migratedDatabase()
    const scopes = scopesOf(empty)
    const rings = await Promise.all(Array.from({ length: 8 }, () => openKeyRing(scopes, ROOT)))
    expect(await empty.sql('select id from key_encryption_keys')).toHaveLength(1)
    await empty.sql(`insert into tenants (name, subdomain) values ('North', 'north')`)
    const [row] = await empty.sql<{ id: number }>(`select id from tenants where name = 'North'`)
    const id = Number(row?.id)
    const sealed = await Promise.all(
      rings.map((one) => scopes.inTenant(id, (tx) => one.seal(tx, id, SECRET, PLACE))),
    )
    for (const [index, bytes] of sealed.entries()) {
      const next = rings[(index + 1) % rings.length] as KeyRing
      expect(await scopes.inTenant(id, (tx) => next.open(tx, id, bytes, PLACE))).toEqual(SECRET)
    }
  })

  test('is the only one: later ones change no key', async () => {
    const keys = () => database.sql('select * from key_encryption_keys')
    const before = await keys()
    await openKeyRing(db, ROOT)
    expect(await keys()).toEqual(before)
  })

  test('with another root key is refused', async () => {
    await expect(openKeyRing(db, openSealer(Buffer.alloc(32, 2)))).rejects.toThrow()
  })
})

describe('what is sealed', () => {
  test('opens again, on another node and after a restart', async () => {
    const sealed = await seal()
    expect(await open(sealed)).toEqual(SECRET)
    expect(await open(sealed, await openKeyRing(db, ROOT))).toEqual(SECRET)
  })

  test('is different each time, and holds nothing of the secret', async () => {
    const [one, two] = [await seal(), await seal()]
    expect(one).not.toEqual(two)
    expect(one.includes(SECRET.subarray(0, 6))).toBe(false)
  })

  test('may be empty, or long', async () => {
    for (const secret of [Buffer.alloc(0), Buffer.alloc(100_000, 3)]) {
      const sealed = await db.inTenant(tenant, (tx) => ring.seal(tx, tenant, secret, PLACE))
      expect(await open(sealed)).toEqual(secret)
    }
  })

  test('opens at no other place', async () => {
    const sealed = await seal()
    for (const place of ['second_factors.secret:8', 'other.secret:7', ''])
      await expect(open(sealed, ring, tenant, place)).rejects.toThrow()
  })

  test('opens in no other tenant, not even across tenants', async () => {
    const other = await newTenant()
    const sealed = await seal()
    await seal(ring, other)
    await expect(open(sealed, ring, other)).rejects.toThrow()
    const across = db.acrossTenants((tx) => ring.open(tx, other, sealed, PLACE))
    await expect(across).rejects.toThrow()
  })

  test('does not open with any one bit changed, or a byte cut off', async () => {
    const sealed = await seal()
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      await expect(open(changed)).rejects.toThrow()
    }
    for (const length of [0, 7, 8, 9, sealed.length - 1])
      await expect(open(sealed.subarray(0, length))).rejects.toThrow()
  })
})

describe('the data key of a tenant', () => {
  test('is one, of sixteen first uses at once on two nodes too', async () => {
    const other = await openKeyRing(db, ROOT)
    const sealed = await Promise.all(
      Array.from({ length: 16 }, (_, index) => seal(index % 2 ? ring : other)),
    )
    expect(await dataKeys()).toHaveLength(1)
    for (const bytes of sealed) expect(await open(bytes)).toEqual(SECRET)
  })

  test('that was undone with its transaction is not used afterwards', async () => {
    const undone = db.inTenant(tenant, async (tx) => {
      await ring.seal(tx, tenant, SECRET, PLACE)
      await ring.seal(tx, tenant, SECRET, PLACE)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await dataKeys()).toEqual([])
    const sealed = await seal()
    expect(await dataKeys()).toHaveLength(1)
    expect(await open(sealed, await openKeyRing(db, ROOT))).toEqual(SECRET)
  })

  test('is waited for while another makes it, and made anew if that one fails', async () => {
    const held = gate()
    const sealedFirst = gate()
    const first = db.inTenant(tenant, async (tx) => {
      await ring.seal(tx, tenant, SECRET, PLACE)
      sealedFirst.open()
      await held.pass
      throw new Error('undone')
    })
    await sealedFirst.pass
    const second = seal(await openKeyRing(db, ROOT))
    held.open()
    await expect(first).rejects.toThrow('undone')
    expect(await open(await second)).toEqual(SECRET)
    expect(await dataKeys()).toHaveLength(1)
  })

  test('that has been retired still opens what it sealed, and seals nothing more', async () => {
    const old = await seal()
    await database.sql('update data_keys set retired_at = now() where tenant_id = $1', [tenant])
    const next = await openKeyRing(db, ROOT)
    const fresh = await seal(next)
    expect(await dataKeys()).toHaveLength(2)
    expect(fresh.subarray(0, 8)).not.toEqual(old.subarray(0, 8))
    for (const sealed of [old, fresh]) expect(await open(sealed, next)).toEqual(SECRET)
  })

  test('goes with its tenant: what it sealed stays closed', async () => {
    const sealed = await seal()
    await database.sql('delete from tenants where id = $1', [tenant])
    expect(await dataKeys()).toEqual([])
    await expect(open(sealed, await openKeyRing(db, ROOT))).rejects.toThrow()
  })

  test('opens under no other tenant when its row is moved there', async () => {
    const other = await newTenant()
    const sealed = await seal()
    await database.sql('update data_keys set tenant_id = $1 where tenant_id = $2', [other, tenant])
    await expect(open(sealed, await openKeyRing(db, ROOT), other)).rejects.toThrow()
  })
})
