/** The erasure of personal fields: no byte of them stays in the journal, and every proof stays valid. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eraseEntries } from '../../src/features/audit/transparency/erase.ts'
import { purgesOf } from '../../src/features/tenants/tenants.jobs.ts'
import { wardkeep } from '../docs/command.ts'
import { fresh } from '../sessions/users.ts'
import { superadmin } from '../support/clinics.ts'
import { everythingIn } from '../support/database-contents.ts'
import { sealAll } from '../support/sealing.ts'
import { openService, type Service } from '../support/service.ts'
import { type LogScene, openLogScene } from './scene.ts'

let service: Service
let scene: LogScene
let rootToken: string
let head: string
/** A user whom the clinic's administrator created, edited and deleted, and who signed in. */
let person: { id: number; email: string }
/** The number of entries with the personal fields of this user. */
let entries: number

beforeAll(async () => {
  service = await openService()
  rootToken = (await superadmin(service)).token
})

beforeEach(async () => {
  scene = await openLogScene(service)
  person = await makePerson()
  await sealAll(service)
  head = await scene.keepHead(fresh('head'))
  entries = (await leavesOf()).filter(({ concerns }) => concerns).length
})

async function makePerson() {
  const { token } = scene.clinic.people.admin
  const email = `${fresh('erika.mustermann')}@erased.test`
  const password = 'Erika-Mustermann-77'
  const body = { email, password, role: 'nurse', full_name: 'Erika Mustermann' }
  const { body: made } = await service.call('POST', '/api/admin/users', { token, body })
  const signIn = { email, password, subdomain: scene.clinic.subdomain }
  await service.call('POST', '/api/auth/login', { body: { ...signIn, password: 'wrong' } })
  expect(await service.call('POST', '/api/auth/login', { body: signIn })).toMatchObject({
    status: 200,
  })
  const change = { body: { role: 'doctor' }, token }
  const path = `/api/admin/users/${made.id}/role`
  expect(await service.call('PUT', path, change)).toMatchObject({ status: 200 })
  return { id: made.id as number, email }
}

/** Returns the leaves of the clinic, and whether their entries have to do with the user. */
const leavesOf = () =>
  service.database.sql<{ entry_id: number; index: number; concerns: boolean; who: string | null }>(
    `select entry_id, index, who, (user_id = $2 or (resource_type = 'user' and resource_id = $2::text)
       or user_email = $3 or changes::text like '%' || $3 || '%') is true as concerns
     from audit_leaves join journal on id = entry_id
     where audit_leaves.tenant_id = $1 order by index`,
    [scene.clinic.id, person.id, person.email],
  )

const erase = (of: { userId: number } | { entryId: number }) =>
  eraseEntries(service.app.db, {
    tenantId: scene.clinic.id,
    of,
    reason: 'The person asked for it.',
  })

const exported = async () => scene.export(`${fresh('log')}.jsonl`)

describe('the erasure of a user', () => {
  it('leaves no byte of the address in the journal, also of failed sign-ins', async () => {
    expect(await everythingIn(service.database)).toContain(person.email)
    expect(await erase({ userId: person.id })).toEqual({ erased: entries, unsealed: 0 })
    await service.database.sql('delete from users where id = $1', [person.id])
    expect(await everythingIn(service.database)).not.toContain(person.email)
  })

  it('keeps the tree, the heads and the proofs of all entries', async () => {
    const before = await leavesOf()
    await erase({ userId: person.id })
    await sealAll(service)
    for (const target of [await exported(), await scene.export(fresh('folder'))])
      expect(await scene.findingsIn(target, { heads: [head] })).toEqual([])
    expect(await scene.findingsInDatabase([head])).toEqual([])
    const erased = (await leavesOf()).find(({ who }) => who !== null)
    const proof = await service.call('GET', `/api/admin/audit/proof/${erased?.entry_id}`, {
      token: rootToken,
    })
    expect(proof).toMatchObject({
      status: 200,
      body: { salts: { who: null, what: null }, entry: { user_email: null, changes: null } },
    })
    expect(JSON.parse(proof.body.leaf).who).toBe(erased?.who)
    const tile = `/api/admin/audit/log/${scene.clinic.id}/tile/entries/000.p/${before.length}`
    expect(await service.call('GET', tile, { token: rootToken })).toMatchObject({ status: 200 })
  })

  it('is a single erasure if it is requested again', async () => {
    await erase({ userId: person.id })
    await sealAll(service)
    expect(await erase({ userId: person.id })).toEqual({ erased: 0, unsealed: 0 })
  })

  it('keeps the entries of other people, whose addresses contain the address', async () => {
    const other = `x${person.email}`
    const body = { email: other, password: 'Erika-Mustermann-77', role: 'nurse', full_name: 'X' }
    const { token } = scene.clinic.people.admin
    expect(await service.call('POST', '/api/admin/users', { token, body })).toMatchObject({
      status: 201,
    })
    await sealAll(service)
    await erase({ userId: person.id })
    const kept = await service.database.sql(
      `select from journal where changes::text like '%' || $1 || '%'`,
      [other],
    )
    expect(kept).toHaveLength(1)
  })

  it('reports entries that are not sealed yet, and erases nothing of them', async () => {
    const wrong = { email: person.email, password: 'wrong', subdomain: scene.clinic.subdomain }
    await service.call('POST', '/api/auth/login', { body: wrong })
    expect(await erase({ userId: person.id })).toEqual({ erased: 0, unsealed: 1 })
  })
})

describe('an erased entry', () => {
  it('is a finding without the order', async () => {
    const [leaf] = (await leavesOf()).filter(({ concerns }) => concerns)
    await erase({ entryId: leaf?.entry_id as number })
    await sealAll(service)
    await scene.tamper(
      `delete from journal where action = 'audit.erased' and tenant_id = ${scene.clinic.id}`,
    )
    const found = await scene.findingsInDatabase()
    expect(found).toContainEqual({ kind: 'erased', index: leaf?.index, entry_id: leaf?.entry_id })
    expect(found).toContainEqual(expect.objectContaining({ kind: 'removed' }))
    expect(found).toHaveLength(2)
  })

  it('is a finding with an order that the service did not write', async () => {
    const [leaf] = (await leavesOf()).filter(({ concerns }) => concerns)
    await erase({ entryId: leaf?.entry_id as number })
    const order = `action = 'audit.erased' and tenant_id = ${scene.clinic.id}`
    await scene.tamper(
      `insert into journal (tenant_id, action, resource_type, changes)
       select tenant_id, action, resource_type, changes from journal where ${order};
       delete from journal where mac is not null and ${order}`,
    )
    await sealAll(service)
    const kinds = (await scene.findingsInDatabase()).map((one) => (one as { kind: string }).kind)
    expect(kinds.toSorted()).toEqual(['erased', 'not_written_by_service', 'removed'])
  })

  it('is changed if fields are written into it, or others are changed', async () => {
    const [leaf] = (await leavesOf()).filter(({ concerns }) => concerns)
    await erase({ entryId: leaf?.entry_id as number })
    await sealAll(service)
    for (const change of ["ip = '192.0.2.1'", "ip = null, action = 'user.blocked'"]) {
      await scene.tamper(`update journal set ${change} where id = ${leaf?.entry_id}`)
      expect(await scene.findingsInDatabase()).toEqual([
        { kind: 'changed', index: leaf?.index, entry_id: leaf?.entry_id },
      ])
    }
  })

  it('cannot be copied back as a genuine entry', async () => {
    const [leaf] = (await leavesOf()).filter(({ concerns }) => concerns)
    const { sql } = service.database
    const columns = `action, tenant_id, user_id, user_email, resource_type, resource_id, changes, ip,
      user_agent, request_id, who_salt, what_salt, mac`
    await sql(
      `create table kept_copy as select ${columns} from journal where id = ${leaf?.entry_id}`,
    )
    await erase({ entryId: leaf?.entry_id as number })
    await sql(`insert into journal (${columns}) select ${columns} from kept_copy`)
    await sql('drop table kept_copy')
    await sealAll(service)
    const [copy] = await sql<{ index: number; entry_id: number }>(
      'select index::int, entry_id from audit_leaves where tenant_id = $1 order by index desc limit 1',
      [scene.clinic.id],
    )
    expect(await scene.findingsInDatabase()).toEqual([{ kind: 'not_written_by_service', ...copy }])
  })

  it('cannot be changed otherwise by the roles of the service', async () => {
    const { app } = service
    const update = `update journal set user_email = null where tenant_id = ${scene.clinic.id}`
    await expect(
      service.database
        .sql(`set role wardkeep_platform; ${update}`)
        .finally(() => service.database.sql('reset role')),
    ).rejects.toThrow(/permission denied/)
    await expect(service.database.sql(update)).rejects.toThrow(/append-only/)
    expect(app).toBeDefined()
  })
})

describe('the purge of a tenant', () => {
  it('erases every entry of the tenant, and no other entry, also after a batch was rolled back', async () => {
    const other = await openLogScene(service)
    await sealAll(service)
    const total = (await leavesOf()).length
    const { db } = service.app
    for (const purge of purgesOf(Object.values(service.app.features))) {
      const rolledBack = db.acrossTenants(async (tx) => {
        await purge(tx, scene.clinic.id, 7)
        throw new Error('rolled back')
      })
      await expect(rolledBack).rejects.toThrow('rolled back')
      while (await db.acrossTenants((tx) => purge(tx, scene.clinic.id, 7)));
    }
    await sealAll(service)
    const leaves = await leavesOf()
    expect(leaves.filter(({ who }) => who !== null)).toHaveLength(total)
    expect(await scene.findingsInDatabase([head])).toEqual([])
    const kept = await service.database.sql(
      'select from audit_leaves where tenant_id = $1 and who is not null',
      [other.clinic.id],
    )
    expect(kept).toEqual([])
  })
})

describe('wardkeep audit erase', () => {
  const run = (...args: string[]) => wardkeep(service.database, ['audit', 'erase', ...args])

  it('erases beside the running service, with an order that is marked by the service', async () => {
    const tenant = String(scene.clinic.id)
    const { code, stdout } = await run(
      '--tenant',
      tenant,
      '--user',
      String(person.id),
      '--reason',
      'GDPR 17',
    )
    expect([code, stdout]).toEqual([0, `Erased ${entries} entries.\n`])
    await sealAll(service)
    const orders = await service.database.sql(
      `select mark, changes->>'reason' as reason from journal join audit_leaves on entry_id = id
       where action = 'audit.erased' and journal.tenant_id = $1`,
      [scene.clinic.id],
    )
    expect(new Set(orders.map(({ mark, reason }) => `${mark} ${reason}`))).toEqual(
      new Set(['ok GDPR 17']),
    )
    expect(await scene.findingsIn(await exported(), { heads: [head] })).toEqual([])
  })

  it('exits with 2 and a sentence for a malformed request', async () => {
    const base = ['--tenant', '7', '--reason', 'x']
    for (const [args, sentence] of [
      [[...base, '--user', '1', '--entry', '2'], /either --user or --entry/],
      [[...base, '--user', 'anna'], /--user: not an id/],
    ] as const) {
      const { code, stderr } = await run(...args)
      expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)])
    }
  })
})
