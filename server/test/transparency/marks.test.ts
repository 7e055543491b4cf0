/** The marks of leaves distinguish entries of the service from those that were inserted or altered in the database. */
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { eventTenantId, ROOT_SEALED } from '../../src/open-features.ts'
import { rotateRoot } from '../../src/platform/crypto/index.ts'
import { alone, openScopes } from '../../src/platform/db/index.ts'
import { appendReturning, journalEntry, SYSTEM } from '../../src/platform/journal/index.ts'
import { furnishPatient } from '../isolation/furnish.ts'
import { fresh, newColleague } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { migratedDatabase } from '../support/database.ts'
import { sealAll } from '../support/sealing.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, rootKeys, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
})

beforeEach(async () => {
  clinic = await makeClinic(service, root, fresh('marked'))
})

const sql = <T extends object>(text: string, values: unknown[] = [], at = service) =>
  at.database.sql<T>(text, values)

/** Renames the clinic. Returns the id of the entry about it. */
async function rename(at = service, token = root.token): Promise<number> {
  const path = `/api/admin/tenants/${clinic.id}`
  const { status } = await at.call('PUT', path, { token, body: { name: fresh('name') } })
  expect(status).toBe(200)
  return lastEntry(at)
}

async function lastEntry(at = service): Promise<number> {
  const text = 'select id from journal where tenant_id = $1 order by id desc limit 1'
  const [entry] = await sql<{ id: number }>(text, [clinic.id], at)
  return entry?.id as number
}

/** Changes the journal as a person who owns the database can. */
const tamper = (statement: string) =>
  sql(`do $$ begin set local session_replication_role = replica; ${statement}; end $$`)

/** Seals all entries. Returns the mark in the leaf of each of these entries, as a proof shows it. */
async function marksOf(ids: readonly number[]): Promise<string[]> {
  await sealAll(service)
  const marks: string[] = []
  for (const id of ids) {
    const { status, body } = await service.call('GET', `/api/admin/audit/proof/${id}`, {
      token: root.token,
    })
    expect(status).toBe(200)
    marks.push(JSON.parse(body.leaf).mark)
  }
  return marks
}

/** Inserts an entry without a mark, as the older release does. Returns its id. */
async function insertUnmarked(createdAt = 'now()'): Promise<number> {
  const [entry] = await sql<{ id: number }>(
    `insert into journal (tenant_id, user_id, user_email, action, resource_type, resource_id, created_at)
     values ($1, $2, $3, 'user.blocked', 'user', '1', ${createdAt}) returning id`,
    [clinic.id, root.id, root.email],
  )
  return entry?.id as number
}

describe('an entry of the service', () => {
  test('is marked by every statement that writes entries', async () => {
    const { doctor, nurse } = clinic.people
    const colleague = await newColleague(service, clinic)
    const refreshed = await service.call('POST', '/api/auth/refresh', {
      body: { refresh_token: colleague.refresh },
    })
    expect(refreshed.status).toBe(200)
    const { patientId } = await furnishPatient(service, clinic)
    await service.call('GET', `/api/patients/${patientId}`, { token: doctor.token })
    await service.call('GET', '/api/patients', { token: doctor.token })
    await service.call('GET', '/api/admin/users', { token: nurse.token })
    const wrong = { email: 'nobody@marked.test', password: 'wrong', subdomain: clinic.subdomain }
    await service.call('POST', '/api/auth/login', { body: wrong })
    await service.call('GET', '/api/admin/audit', { token: root.token })
    await sealAll(service)
    const found = await sql<{ action: string; mark: string }>(
      `select distinct action, mark from audit_leaves leaf
       join journal on journal.id = leaf.entry_id where leaf.tenant_id = $1`,
      [clinic.id],
    )
    expect(found.filter(({ mark }) => mark !== 'ok')).toEqual([])
    expect(found.map(({ action }) => action)).toEqual(
      expect.arrayContaining([
        'access.refused',
        'auth.login',
        'auth.login_failed',
        'auth.token_refreshed',
        'patient.listed',
        'patient.read',
        'tenant.created',
      ]),
    )
  })

  test('stays marked when its changes contain dates, large numbers and every kind of text', async () => {
    const changes = {
      'b\n': new Date(0),
      a: [1e21, -0, 1e-7, 2 ** 53, null, { z: undefined, é: true }],
      text: '"\\\u2028\u{1f600}é',
    }
    const entry = journalEntry('tenant.updated', 'tenant', { id: clinic.id, tenant_id: clinic.id })
    const { id } = await service.app.db.inTenant(clinic.id, (tx) =>
      appendReturning(tx, SYSTEM, { ...entry, changes }),
    )
    expect(await marksOf([id])).toEqual(['ok'])
  })

  test('stays marked if it is sealed only after a rotation of the root key', async () => {
    const database = await migratedDatabase()
    const before = await openService({ database })
    const operator = await superadmin(before)
    clinic = await makeClinic(before, operator, 'rotated')
    const id = await rename(before, operator.token)
    await before.close()
    const next = Buffer.alloc(32, 9)
    const db = openScopes(database.address, {
      clock: systemTime,
      size: 1,
      changes: alone,
      log: silentLog,
    })
    const rotated = await rotateRoot(db, {
      source: rootKeys(ROOT_KEY, next),
      next: async () => ({ key: next, from: 'ENCRYPTION_KEY_NEXT' }),
      sealed: ROOT_SEALED,
      eventTenantId,
      onProgress: () => undefined,
    }).finally(() => db.close())
    expect(rotated.former).not.toBeNull()
    const after = await openService({ database, rootKeys: rootKeys(next) })
    await sealAll(after)
    const marks = await sql<{ mark: string; entry_id: number; action: string }>(
      `select mark, entry_id, action from audit_leaves
       join journal on journal.id = entry_id`,
      [],
      after,
    )
    expect(marks.filter(({ mark }) => mark !== 'ok')).toEqual([])
    expect(marks.map(({ entry_id }) => entry_id)).toContain(id)
    expect(marks.map(({ action }) => action)).toContain('encryption.root_key_rotated')
  })
})

describe('an entry that somebody inserted into the database', () => {
  test('is marked bad, however plausible it is', async () => {
    const before = await rename()
    const inserted = await insertUnmarked()
    const after = await rename()
    expect(await marksOf([before, inserted, after])).toEqual(['ok', 'bad', 'ok'])
  })

  test('is marked bad with an invented mark', async () => {
    const ids: number[] = []
    for (const [salt, mac] of [
      [32, 32],
      [32, 31],
      [5, 32],
      [0, 0],
    ]) {
      const [entry] = await sql<{ id: number }>(
        `insert into journal (tenant_id, action, resource_type, who_salt, what_salt, mac)
         values ($1, 'tenant.updated', 'tenant', $2, $2, $3) returning id`,
        [clinic.id, Buffer.alloc(salt as number, ids.length), Buffer.alloc(mac as number, 1)],
      )
      ids.push(entry?.id as number)
    }
    expect(await marksOf(ids)).toEqual(['bad', 'bad', 'bad', 'bad'])
  })

  const copy = (id: number) =>
    sql<{ id: number }>(
      `insert into journal (tenant_id, user_id, user_email, action, resource_type, resource_id,
         changes, ip, user_agent, request_id, who_salt, what_salt, mac)
       select tenant_id, user_id, user_email, action, resource_type, resource_id,
         changes, ip, user_agent, request_id, who_salt, what_salt, mac
       from journal where id = $1 returning id`,
      [id],
    )

  test('is marked bad as a copy of a genuine entry, before that is sealed and afterwards', async () => {
    const genuine = await rename()
    const [early] = await copy(genuine)
    expect(await marksOf([genuine, early?.id as number])).toEqual(['ok', 'bad'])
    const [late] = await copy(genuine)
    expect(await marksOf([late?.id as number])).toEqual(['bad'])
  })
})

describe('an entry that was altered before it was sealed', () => {
  test.each([
    ['tenant_id', "'0'"],
    ['user_id', 'user_id + 1'],
    ['user_email', "'other@person.test'"],
    ['action', "'tenant.created'"],
    ['resource_type', "'user'"],
    ['resource_id', "'77'"],
    ['changes', `jsonb_set(changes, '{after,name}', '"Other"')`],
    ['changes', 'null'],
    ['ip', "'192.0.2.99'"],
    ['user_agent', "'other'"],
    ['request_id', 'gen_random_uuid()'],
    ['who_salt', 'what_salt'],
    ['what_salt', 'null'],
    ['mac', 'null'],
  ])('is marked bad if its %s became %s', async (column, value) => {
    const id = await rename()
    await tamper(`update journal set ${column} = ${value} where id = ${id}`)
    expect(await marksOf([id])).toEqual(['bad'])
  })

  test('is marked bad if its mark was removed', async () => {
    const id = await rename()
    await tamper(
      `update journal set who_salt = null, what_salt = null, mac = null where id = ${id}`,
    )
    expect(await marksOf([id])).toEqual(['bad'])
  })

  test('is marked bad for a refreshed token as well', async () => {
    const { refresh } = await newColleague(service, clinic)
    await service.call('POST', '/api/auth/refresh', { body: { refresh_token: refresh } })
    const id = await lastEntry()
    await tamper(`update journal set ip = '192.0.2.99' where id = ${id}`)
    expect(await marksOf([id])).toEqual(['bad'])
  })
})

describe('an entry without a mark', () => {
  /** Makes the database one that was upgraded at a time. */
  async function upgradedAt(time: string): Promise<void> {
    await sql(`insert into journal_marks values (${time})`)
    onTestFinished(async () => void (await sql('delete from journal_marks')))
  }

  test('from before the upgrade is marked none', async () => {
    await upgradedAt("now() + interval '1 hour'")
    const id = await insertUnmarked()
    expect(await marksOf([id, await rename()])).toEqual(['none', 'ok'])
  })

  test('may come from a node of the older release for one day after the upgrade', async () => {
    await upgradedAt("now() - interval '23 hours'")
    expect(await marksOf([await insertUnmarked()])).toEqual(['none'])
    await sql("update journal_marks set since = now() - interval '25 hours'")
    expect(await marksOf([await insertUnmarked()])).toEqual(['bad'])
  })

  test('is marked bad if it was inserted with an earlier time after that day', async () => {
    await upgradedAt("now() - interval '25 hours'")
    expect(await marksOf([await rename()])).toEqual(['ok'])
    const backdated = await insertUnmarked("now() - interval '24 hours 30 minutes'")
    expect(await marksOf([backdated])).toEqual(['bad'])
  })
})
