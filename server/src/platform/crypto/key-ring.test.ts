/**
 * Tests the key ring on a real database. Concurrent nodes share one key per tenant, and the cache is never outdated.
 */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { gate, scopesOf, unheard } from '../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import type { Scopes, TenantTx, Topic } from '../db/index.ts'
import { type KeyRing, openKeyRing } from './key-ring.ts'
import { openSealer, UnreadableError } from './seal.ts'

const ROOT = openSealer(Buffer.alloc(32, 1))
const SECRET = 'the secret of a test'
const PLACE = { table: 'second_factors', column: 'sealed_secret', row: 7 }

/** Simulates the change notifications that a node receives. */
function hearing() {
  const listeners: ((topic: Topic | null) => void)[] = []
  const state = { isTrusted: true }
  return {
    state,
    tell: (topic: Topic | null) => listeners.forEach((listener) => void listener(topic)),
    changes: {
      subscribe(listener: (topic: Topic | null) => void) {
        listeners.push(listener)
        return () => undefined
      },
      trusted: () => state.isTrusted,
      isInMaintenance: () => false,
    },
  }
}

let database: TestDatabase
let db: Scopes
let node: ReturnType<typeof hearing>
let ring: KeyRing
let tenant: number
let made = 0

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
})

beforeEach(async () => {
  node = hearing()
  ring = await openKeyRing(db, ROOT, node.changes)
  tenant = await newTenant()
})

const newRing = (scopes = db) => openKeyRing(scopes, ROOT, unheard)

async function newTenant(on = database): Promise<number> {
  made += 1
  const [row] = await on.sql<{ id: number }>(
    'insert into tenants (name, subdomain) values ($1, $1) returning id',
    [`clinic-${made}`],
  )
  return Number(row?.id)
}

const sealIn = async (tx: TenantTx, by = ring, tenantId = tenant) =>
  (await by.forWriting(tx, tenantId)).seal(SECRET, PLACE)
const seal = (by = ring, tenantId = tenant) =>
  db.inTenant(tenantId, (tx) => sealIn(tx, by, tenantId))
const open = (sealed: Uint8Array, by = ring, tenantId = tenant) =>
  db.inTenant(
    tenantId,
    async (tx) => (await by.ofTenant(tx, tenantId)).open(sealed, PLACE).toString(),
    'read',
  )
const currentId = (by = ring) =>
  db.inTenant(tenant, async (tx) => (await by.ofTenant(tx, tenant)).currentId, 'read')
const dataKeys = () =>
  database.sql<{ id: number }>('select id from data_keys where tenant_id = $1 order by id', [
    tenant,
  ])

/** Creates a new current key as a rotation on another node does, without notifying this node. */
async function rotate(): Promise<void> {
  await database.sql('update data_keys set retired_at = now() where tenant_id = $1', [tenant])
  await seal(await newRing())
}

describe('the first start on an empty database', () => {
  test('creates one key-encryption key that eight concurrent nodes use', async () => {
    const empty = await migratedDatabase()
    const scopes = scopesOf(empty)
    const rings = await Promise.all(Array.from({ length: 8 }, () => newRing(scopes)))
    expect(await empty.sql('select id from key_encryption_keys')).toHaveLength(1)
    const id = await newTenant(empty)
    const sealed = await Promise.all(
      rings.map((one) => scopes.inTenant(id, (tx) => sealIn(tx, one, id))),
    )
    for (const [index, bytes] of sealed.entries()) {
      const next = rings[(index + 1) % rings.length] as KeyRing
      const keys = await scopes.inTenant(id, (tx) => next.ofTenant(tx, id))
      expect(keys.open(bytes, PLACE).toString()).toBe(SECRET)
    }
  })

  test('creates a key-encryption key that later starts do not change', async () => {
    const keys = () => database.sql('select * from key_encryption_keys')
    const before = await keys()
    await newRing()
    expect(await keys()).toEqual(before)
  })

  test('fails if another root key encrypted the key-encryption key', async () => {
    const other = openSealer(Buffer.alloc(32, 2))
    await expect(openKeyRing(db, other, unheard)).rejects.toThrow(/encrypted with another key/)
  })
})

describe('an encrypted value', () => {
  test('decrypts a value on another node and after a restart', async () => {
    const sealed = await seal()
    expect(await open(sealed)).toBe(SECRET)
    expect(await open(sealed, await newRing())).toBe(SECRET)
  })

  test('decrypts no value of another tenant, even with access across tenants', async () => {
    const other = await newTenant()
    for (const [from, to] of [
      [tenant, other],
      [other, tenant],
    ] as const) {
      const sealed = await seal(ring, from)
      await seal(ring, to)
      await expect(open(sealed, ring, to)).rejects.toThrow(UnreadableError)
      const keys = await db.acrossTenants((tx) => ring.ofTenant(tx, to))
      expect(() => keys.open(sealed, PLACE)).toThrow(UnreadableError)
    }
  })

  test('decrypts nothing in a tenant without a key, and creates no key while reading', async () => {
    const other = await newTenant()
    await expect(open(await seal(ring, other))).rejects.toThrow(UnreadableError)
    expect(await currentId()).toBe(0)
    expect(await dataKeys()).toEqual([])
  })
})

describe('the data key of a tenant', () => {
  test('creates one data key for sixteen concurrent first uses on two nodes', async () => {
    const other = await newRing()
    const sealed = await Promise.all(
      Array.from({ length: 16 }, (_, index) => seal(index % 2 ? ring : other)),
    )
    expect(await dataKeys()).toHaveLength(1)
    for (const bytes of sealed) expect(await open(bytes)).toBe(SECRET)
  })

  test('does not use a data key whose transaction was rolled back', async () => {
    const undone = db.inTenant(tenant, async (tx) => {
      await sealIn(tx)
      await sealIn(tx)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await dataKeys()).toEqual([])
    const sealed = await seal()
    expect(await dataKeys()).toHaveLength(1)
    expect(await open(sealed, await newRing())).toBe(SECRET)
  })

  test('does not share a data key before its transaction has committed', async () => {
    const [held, sealed] = [gate(), gate()]
    const first = db.inTenant(tenant, async (tx) => {
      await sealIn(tx)
      sealed.open()
      await held.pass
    })
    await sealed.pass
    expect(await currentId()).toBe(0)
    held.open()
    await first
    expect(await currentId()).toBe((await dataKeys())[0]?.id)
  })

  test('waits while another node creates the data key, and creates it if that fails', async () => {
    const [held, sealedFirst] = [gate(), gate()]
    const first = db.inTenant(tenant, async (tx) => {
      await sealIn(tx)
      sealedFirst.open()
      await held.pass
      throw new Error('undone')
    })
    await sealedFirst.pass
    const second = seal(await newRing())
    held.open()
    await expect(first).rejects.toThrow('undone')
    expect(await open(await second)).toBe(SECRET)
    expect(await dataKeys()).toHaveLength(1)
  })

  test('decrypts with a retired data key, but no longer encrypts with it', async () => {
    const old = await seal()
    await rotate()
    const next = await newRing()
    const fresh = await seal(next)
    expect(await dataKeys()).toHaveLength(2)
    expect(fresh.subarray(1, 9)).not.toEqual(old.subarray(1, 9))
    for (const sealed of [old, fresh]) expect(await open(sealed, next)).toBe(SECRET)
  })

  test('deletes the data key with its tenant, so its values no longer decrypt', async () => {
    const sealed = await seal()
    await database.sql('delete from tenants where id = $1', [tenant])
    expect(await dataKeys()).toEqual([])
    await expect(open(sealed, await newRing())).rejects.toThrow(UnreadableError)
  })

  test('decrypts nothing for another tenant if the row of a data key is moved there', async () => {
    const other = await newTenant()
    const sealed = await seal()
    await database.sql('update data_keys set tenant_id = $1 where tenant_id = $2', [other, tenant])
    await expect(open(sealed, await newRing(), other)).rejects.toThrow(UnreadableError)
  })
})

describe('the cache of data keys', () => {
  test('needs no database access in later transactions', async () => {
    await seal()
    const tx = { begunAt: 0 } as TenantTx
    expect((await ring.forWriting(tx, tenant)).currentId).toBeGreaterThan(0)
    expect((await ring.ofTenant(tx, tenant)).currentId).toBeGreaterThan(0)
  })

  test('is not used while change notifications may be lost', async () => {
    await seal()
    await rotate()
    const [old, fresh] = await dataKeys()
    expect(await currentId()).toBe(old?.id)
    node.state.isTrusted = false
    expect(await currentId()).toBe(fresh?.id)
  })

  test.each<[string, () => Topic | null]>([
    ['the tenant of the keys changes', () => `tenant:${tenant}`],
    ['any keys change', () => 'keys'],
    ['a notification may have been missed', () => null],
  ])('drops its keys when %s', async (_when, topic) => {
    await seal()
    await rotate()
    node.tell(topic())
    expect(await currentId()).toBe((await dataKeys())[1]?.id)
  })

  test('keeps the keys of a tenant when another tenant changes', async () => {
    await seal()
    await rotate()
    node.tell(`tenant:${tenant + 1}`)
    expect(await currentId()).toBe((await dataKeys())[0]?.id)
  })

  test.each(['read', 'list'] as const)(
    'does not store keys that a %s read before they changed',
    async (mode) => {
      await seal(await newRing())
      const [held, hasRead] = [gate(), gate()]
      const slow = db.inTenant(
        tenant,
        async (tx) => {
          await ring.ofTenant(tx, tenant)
          hasRead.open()
          await held.pass
        },
        mode,
      )
      await hasRead.pass
      await rotate()
      node.tell('keys')
      held.open()
      await slow
      expect(await currentId()).toBe((await dataKeys())[1]?.id)
    },
  )

  test('reloads its keys for a value that a newer key encrypted, without an error', async () => {
    await seal()
    await rotate()
    const fresh = await seal(await newRing())
    expect(await currentId()).toBe((await dataKeys())[0]?.id)
    expect(await open(fresh)).toBe(SECRET)
    expect(await currentId()).toBe((await dataKeys())[1]?.id)
  })

  test('reloads its keys only once for a value whose key never existed', async () => {
    const sealed = await seal()
    sealed.writeBigUInt64BE(9_999_999_999n, 1)
    await expect(open(sealed)).rejects.toThrow(UnreadableError)
    await currentId()
    await rotate()
    await expect(open(sealed)).rejects.toThrow(UnreadableError)
    expect(await currentId()).toBe((await dataKeys())[0]?.id)
  })
})
