/** Download tickets: links for one download from one address, while the session of their creator lasts. */
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { MINUTE } from '../../src/lib/clock.ts'
import { atOnce, tally } from '../races/race.ts'
import { newColleague, newPerson } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { make } from './support.ts'

const ADDRESS = '10.1.0.4'
const GONE = { status: 404, body: { code: 'not_found' } }

let service: Service
let root: Person
let north: Clinic
let full: string
let own: string

beforeAll(async () => {
  service = await openService({ background: ['backups'] })
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  full = await make(service, root)
  own = await make(service, north.people.admin)
  service.clock.stop()
})

beforeEach(() => service.database.sql('delete from download_tickets'))

/** Requests a ticket. Returns the path of the download. */
async function linkFor({ token }: Person, backup_id: string): Promise<string> {
  const body = { kind: 'backup', backup_id }
  const answer = await service.app.server.inject({
    method: 'POST',
    url: '/api/admin/downloads',
    headers: { authorization: `Bearer ${token}` },
    remoteAddress: ADDRESS,
    payload: body,
  })
  expect(answer.statusCode).toBe(201)
  return answer.json().url
}

interface Asked {
  range?: string
  from?: string
  method?: 'GET' | 'HEAD'
}

async function download(url: string, { range, from = ADDRESS, method = 'GET' }: Asked = {}) {
  const answer = await service.app.server.inject({
    method,
    url,
    remoteAddress: from,
    ...(range === undefined ? {} : { headers: { range } }),
  })
  const { statusCode: status, headers, rawPayload: bytes } = answer
  return { status, headers, bytes, body: status >= 400 && method === 'GET' ? answer.json() : {} }
}

const entries = (id: string) =>
  service.database.sql(
    `select user_id, tenant_id, ip from journal
     where action = 'backup.downloaded' and resource_id = $1 order by id`,
    [id],
  )

test('a ticket downloads the whole file without an access token, and is journaled once for its creator', async () => {
  const before = (await entries(own)).length
  const url = await linkFor(north.people.admin, own)
  expect(await entries(own)).toHaveLength(before)
  const answer = await download(url)
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'content-disposition': `attachment; filename="${own}.tar.zst.age"` },
  })
  const direct = await service.app.server.inject({
    url: `/api/admin/backup/download/${own}`,
    headers: { authorization: `Bearer ${root.token}` },
  })
  expect(answer.bytes.equals(direct.rawPayload)).toBe(true)
  const { id, tenant_id } = north.people.admin
  expect((await entries(own))[before]).toEqual({ user_id: id, tenant_id, ip: ADDRESS })
  expect(await entries(own)).toHaveLength(before + 2)
})

test('a ticket is stored as a hash, and appears neither in the log nor in the journal', async () => {
  const url = await linkFor(root, full)
  const secret = url.split('.')[1] ?? ''
  expect(secret).toHaveLength(43)
  await download(url)
  await download(`${url}A`)
  const [row] = await service.database.sql<{ row: string }>(
    'select t::text as row from download_tickets t',
  )
  const journal = await service.database.sql<{ row: string }>(
    'select j::text as row from journal j order by id desc limit 20',
  )
  const logged = JSON.stringify(service.logged)
  expect(logged).toContain('/api/admin/downloads/:ticket')
  for (const text of [row?.row, ...journal.map((one) => one.row), logged])
    expect(text).not.toContain(secret)
})

test('a used ticket continues an interrupted download, and refuses a second one', async () => {
  const before = (await entries(full)).length
  const url = await linkFor(root, full)
  const whole = await download(url)
  expect(whole.status).toBe(200)
  expect(await download(url)).toMatchObject(GONE)
  expect(await download(url, { range: 'bytes=0-' })).toMatchObject(GONE)
  const rest = await download(url, { range: 'bytes=100-' })
  expect(rest).toMatchObject({
    status: 206,
    headers: { 'content-range': `bytes 100-${whole.bytes.length - 1}/${whole.bytes.length}` },
  })
  expect(rest.bytes.equals(whole.bytes.subarray(100))).toBe(true)
  expect(await entries(full)).toHaveLength(before + 1)
  service.clock.advance(2 * MINUTE)
  expect((await download(url, { range: 'bytes=100-' })).status).toBe(206)
  expect(await download(url, { range: 'bytes=100-', from: '10.1.0.5' })).toMatchObject(GONE)
  expect(await entries(full)).toHaveLength(before + 1)
  // Advancing the clock by a quarter of an hour would end the access tokens of the other tests.
  const ended = await service.database.sql(
    `update download_tickets set expires_at = used_at
     where expires_at = used_at + interval '15 minutes' returning resumptions`,
  )
  expect(ended).toEqual([{ resumptions: 2 }])
  expect(await download(url, { range: 'bytes=100-' })).toMatchObject(GONE)
})

test('a used ticket continues its download at most twenty times', async () => {
  const url = await linkFor(root, full)
  await download(url)
  await service.database.sql('update download_tickets set resumptions = 18')
  const answers = await atOnce(() => download(url, { range: 'bytes=1-' }), 4)
  expect(tally(answers)).toEqual({ 206: 2, 404: 2 })
})

test('a request for the headers leaves the ticket unused', async () => {
  const url = await linkFor(root, full)
  expect((await download(url, { method: 'HEAD' })).status).toBe(200)
  expect((await download(url)).status).toBe(200)
})

test('only one of several simultaneous downloads gets the file', async () => {
  const url = await linkFor(root, full)
  const answers = await atOnce(() => download(url), 5)
  expect(tally(answers)).toEqual({ 200: 1, 404: 4 })
})

test('a ticket is refused after a minute, and from another address', async () => {
  const url = await linkFor(root, full)
  expect(await download(url, { from: '10.1.0.5' })).toMatchObject(GONE)
  service.clock.advance(MINUTE)
  expect(await download(url)).toMatchObject(GONE)
})

test('an altered, unknown or foreign ticket is refused', async () => {
  const url = await linkFor(north.people.admin, own)
  const [, secret] = url.split('.')
  for (const bad of [`${url}A`, url.slice(0, -1), url.replace(`.${secret}`, `.${'A'.repeat(43)}`)])
    expect(await download(bad)).toMatchObject(GONE)
  const foreign = url.replace(/\d+\./, `${root.tenant_id}.`)
  expect(await download(foreign)).toMatchObject(GONE)
  expect((await download(url)).status).toBe(200)
})

test('a ticket ends with the session, the block and the role of its creator', async () => {
  const { sql } = service.database
  for (const end of ['blocked', 'demoted', 'signed out'] as const) {
    const colleague = await newColleague(service, north, 'admin')
    const url = await linkFor(colleague, own)
    const { token } = root
    if (end === 'blocked')
      await service.call('POST', `/api/admin/users/${colleague.id}/block`, { token })
    if (end === 'demoted')
      await service.call('PUT', `/api/admin/users/${colleague.id}/role`, {
        token,
        body: { role: 'nurse' },
      })
    if (end === 'signed out')
      await service.call('POST', '/api/auth/logout', { token: colleague.token, body: {} })
    expect(await download(url)).toMatchObject(GONE)
    expect(await sql('select from download_tickets where used_at is not null')).toEqual([])
  }
})

test('a ticket of a deleted backup is refused', async () => {
  const id = await make(service, north.people.admin)
  const url = await linkFor(north.people.admin, id)
  await service.call('DELETE', `/api/admin/backup/${id}`, { token: root.token })
  expect(await download(url)).toMatchObject(GONE)
})

test('an administrator gets no ticket for a full backup', async () => {
  const answer = await service.call('POST', '/api/admin/downloads', {
    token: north.people.admin.token,
    body: { kind: 'backup', backup_id: full },
  })
  expect(answer).toMatchObject(GONE)
})

test('a superadmin can download a backup of a tenant, which is journaled under that tenant', async () => {
  const operator = await newPerson(service, root, {
    tenantId: root.tenant_id,
    subdomain: 'platform',
    role: 'superadmin',
  })
  expect((await download(await linkFor(operator, own))).status).toBe(200)
  expect((await entries(own)).at(-1)).toEqual({
    user_id: operator.id,
    tenant_id: north.id,
    ip: ADDRESS,
  })
})

test('a node deletes expired tickets when it starts', async () => {
  await linkFor(root, full)
  await service.database.sql(`update download_tickets set expires_at = now() - interval '1 hour'`)
  await openService({ database: service.database })
  expect(await service.database.sql('select from download_tickets')).toEqual([])
})
