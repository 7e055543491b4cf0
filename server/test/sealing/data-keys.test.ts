/** Encrypted rows and their data keys. Neither exists without the other, in any order of deletion. */
import { beforeAll, describe, expect, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { openKeyRing, openSealer } from '../../src/platform/crypto/index.ts'
import { openScopes, type Scopes, watchChanges } from '../../src/platform/db/index.ts'
import { unheard } from '../sessions/scopes.ts'
import { newColleague } from '../sessions/users.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
let clinic: Clinic
let person: Person
let keyId: number

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
  person = await newColleague(service, clinic)
  await setUp(person)
  keyId = (await keyIds())[0] as number
})

const setUp = ({ token, password }: Person) =>
  service.call('POST', '/api/auth/totp/setup', { token, body: { password } })

async function keyIds(): Promise<number[]> {
  const rows = await service.database.sql<{ id: number }>(
    'select id from data_keys where tenant_id = $1 order by id',
    [clinic.id],
  )
  return rows.map(({ id }) => id)
}

const namedBy = async ({ id }: Person) =>
  (
    await service.database.sql<{ data_key_id: number }>(
      'select data_key_id from second_factors where user_id = $1',
      [id],
    )
  )[0]?.data_key_id

/** Deletes the key and everything encrypted with it, without notifying any node. */
async function destroyKeys(): Promise<void> {
  await service.database.sql('delete from second_factors where tenant_id = $1', [clinic.id])
  await service.database.sql('delete from data_keys where tenant_id = $1', [clinic.id])
}

describe('a row with encrypted columns', () => {
  test('has its data key recorded automatically, in both formats', async () => {
    expect(await namedBy(person)).toBe(keyId)
    const id = Buffer.alloc(8)
    id.writeBigUInt64BE(BigInt(keyId))
    const [row] = await service.database.sql<{ two: number; one: number; none: null }>(
      `select sealed_by('\\x02'::bytea || $1 || '\\xffffffffffffffff') as two,
         sealed_by($1 || '\\x0102ffffffffffffff'::bytea) as one, sealed_by(null) as none`,
      [id],
    )
    expect(row).toEqual({ two: keyId, one: keyId, none: null })
  })

  test('cannot record another data key than the one in its encrypted bytes', async () => {
    const lie = 'update second_factors set data_key_id = 1 where user_id = $1'
    await expect(service.database.sql(lie, [person.id])).rejects.toThrow(
      /only be updated to DEFAULT/,
    )
  })

  test.each([
    ['nothing', '', /index 0 out of valid range/],
    ['one byte', '02', /__data_key/],
    ['half a key', '0200000000', /__data_key/],
    ['an unknown key', '027fffffffffffffff'.padEnd(120, '0'), /__data_key/],
    ['an unknown format', 'ff'.padEnd(120, '0'), /__data_key/],
    ['text', Buffer.from('JBSWY3DPEHPK3PXP').toString('hex'), /__data_key/],
  ])('is refused with invalid bytes: %s', async (_what, hex, refusal) => {
    const another = await newColleague(service, clinic)
    const insert = service.database.sql(
      'insert into second_factors (user_id, tenant_id, sealed_secret) values ($1, $2, $3)',
      [another.id, clinic.id, Buffer.from(hex, 'hex')],
    )
    await expect(insert).rejects.toThrow(refusal)
  })

  test('is refused if its columns are encrypted with different keys', async () => {
    const other = await makeClinic(service, await superadmin(service), 'south')
    await setUp(other.people.nurse)
    const insert = service.database.sql(
      `insert into payment_notifications (provider, event_key, type, state, holds_key, received_at,
         armed_at, due_at, seal_id, sealed_body, sealed_signature)
       select 'cardnet', 'two keys', 'x', 'received', true, now(), now(), now(), gen_random_uuid(),
         '\\x02'::bytea || int8send($1), '\\x02'::bytea || int8send(id)
       from data_keys where tenant_id = $2`,
      [keyId, other.id],
    )
    await expect(insert).rejects.toThrow(/payment_notifications__sealed_signature_key/)
  })
})

describe('a data key', () => {
  test('cannot be deleted while a row uses it, not even a row of another tenant', async () => {
    const { db } = service.app
    const remove = (scope: Scopes['acrossTenants']) =>
      scope((tx) => tx.db.deleteFrom('data_keys').where('id', '=', keyId).execute())
    const refused = { constraint: 'second_factors__data_key' }
    await expect(remove(db.acrossTenants)).rejects.toMatchObject(refused)
    await expect(remove((work) => db.inTenant(clinic.id, work))).rejects.toMatchObject(refused)
    expect(await keyIds()).toEqual([keyId])
  })

  test('cannot be deleted until an uncommitted row that uses it is committed or rolled back', async () => {
    const another = await newColleague(service, clinic)
    const { db } = service.app
    const { promise: inserted, resolve: hasInserted } = Promise.withResolvers<void>()
    const { promise: held, resolve: goOn } = Promise.withResolvers<void>()
    const ring = await openKeyRing(db, openSealer(ROOT_KEY), unheard)
    const place = { table: 'second_factors', column: 'sealed_secret', row: another.id }
    const slow = db.inTenant(clinic.id, async (tx) => {
      const sealed_secret = (await ring.forWriting(tx, clinic.id)).seal('x', place)
      const row = { user_id: another.id, tenant_id: clinic.id, sealed_secret, confirmed_at: null }
      await tx.db.insertInto('second_factors').values(row).execute()
      hasInserted()
      await held
    })
    await inserted
    const removed = service.database.sql('delete from data_keys where id = $1', [keyId])
    const refused = expect(removed).rejects.toThrow(/second_factors__data_key/)
    await until('it waits', async () => {
      const waiting = await service.database.sql(
        `select from pg_stat_activity where wait_event_type = 'Lock'
           and datname = current_database() and query like 'delete from data_keys%'`,
      )
      return waiting.length > 0 || undefined
    })
    goOn()
    await slow
    await refused
  })
})

describe('a data key that was destroyed between encrypting and writing', () => {
  test('causes no error, because the transaction is repeated with the new key', async () => {
    const another = await newColleague(service, clinic)
    await setUp(another)
    const before = await namedBy(another)
    await destroyKeys()
    // The service still has the key in memory and encrypts with it.
    const { status, body } = await setUp(another)
    expect(status).toBe(200)
    expect(body.secret).toMatch(/^[A-Z2-7]+$/)
    expect(await namedBy(another)).toBeGreaterThan(before ?? 0)
    expect(await keyIds()).toEqual([await namedBy(another)])
  })

  test('is removed from memory, and the transaction is repeated even if the write was not awaited', async () => {
    const { address } = service.database
    const changes = watchChanges(address, silentLog, systemTime)
    const db = openScopes(address, { clock: systemTime, size: 2, changes, log: silentLog })
    atTheEnd(async () => {
      await changes.stop()
      await db.close()
    })
    const ring = await openKeyRing(db, openSealer(ROOT_KEY), changes)
    await until('it hears the others', () => changes.trusted() || undefined)
    const another = await newColleague(service, clinic)
    await db.inTenant(clinic.id, (tx) => ring.forWriting(tx, clinic.id))
    await destroyKeys()
    const place = { table: 'second_factors', column: 'sealed_secret', row: another.id }
    const sealedBy: number[] = []
    await db.inTenant(clinic.id, async (tx) => {
      const keys = await ring.forWriting(tx, clinic.id)
      sealedBy.push(keys.currentId)
      const sealed_secret = keys.seal('x', place)
      const row = { user_id: another.id, tenant_id: clinic.id, sealed_secret, confirmed_at: null }
      tx.send(tx.db.insertInto('second_factors').values(row).compile())
    })
    expect(sealedBy).toHaveLength(2)
    expect(sealedBy[1]).not.toBe(sealedBy[0])
    expect(await keyIds()).toEqual(sealedBy.slice(1))
    expect(await namedBy(another)).toBe(sealedBy[1])
  })
})
