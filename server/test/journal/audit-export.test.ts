/**
 * Exports of the audit log over HTTP are complete, use limited memory, are safe for spreadsheets, and are journaled.
 */
import { once } from 'node:events'
import { type IncomingMessage, get as request } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { newColleague } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const MIB = 2 ** 20
const MANY = 60_000
/** The length of the `changes` field in each of the many entries. */
const BYTES = 800

let service: Service
let address: string
let root: Person
let north: Clinic
let south: Clinic

beforeAll(async () => {
  service = await openService()
  address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
  await service.database.sql(
    `insert into journal (tenant_id, user_id, action, resource_type, resource_id, changes, ip)
     select $1, $2, 'department.updated', 'department', n::text,
       jsonb_build_object('text', repeat('x', ${BYTES})), '192.0.2.1'
     from generate_series(1, ${MANY}) n`,
    [north.id, north.people.admin.id],
  )
})

type Query = Record<string, string | readonly string[]>

function urlOf(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one] as [string, string]),
  )
  return `${address}/api/admin/audit/export?${new URLSearchParams(pairs)}`
}

/** Starts an export. Does not read its body. */
async function open({ token }: Person, query: Query = {}): Promise<IncomingMessage> {
  const asking = request(urlOf(query), { headers: { authorization: `Bearer ${token}` } })
  asking.on('error', () => undefined)
  onTestFinished(() => void asking.destroy())
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  response.on('error', () => undefined)
  return response
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return text
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '')

async function exported(by: Person, query: Query) {
  const response = await open(by, { format: 'ndjson', ...query })
  expect(response.statusCode).toBe(200)
  return linesOf(await textOf(response)).map((line) => JSON.parse(line))
}

/** Returns the entries about exports by a user. */
const journaled = ({ id }: Person) =>
  service.database.sql<{ tenant_id: number; resource_type: string; changes: any; request: string }>(
    `select tenant_id::int, resource_type, changes, request_id::text as request from journal
     where action = 'audit.exported' and user_id = $1 order by id`,
    [id],
  )

const ended = (person: Person, state: string) =>
  until(`the export is ${state}`, async () =>
    (await journaled(person)).find(({ changes }) => changes.state === state),
  )

describe('an export of the audit log', () => {
  it('contains the same entries as the list, with its filters and in its order', async () => {
    const { admin, nurse } = north.people
    await service.call('POST', `/api/admin/users/${nurse.id}/block`, { token: admin.token })
    for (const query of [
      { group: ['user', 'tenant'] },
      { action: ['user.blocked', 'user.created'] },
      { about_user: String(nurse.id) },
      { resource_type: 'department', resource_id: '77' },
      { ip: '192.0.2.1', resource_type: 'department', resource_id: '78', from_date: '2001-01-01' },
      { to_date: '2001-01-01' },
    ] as Query[]) {
      const listed = await service.call('GET', '/api/admin/audit', {
        token: admin.token,
        query: { limit: 100, ...query },
      })
      expect([query, await exported(admin, query)]).toEqual([query, listed.body.items])
    }
  })

  it('cannot be cached by proxies', async () => {
    const { auditor } = north.people
    const csv = await open(auditor, { to_date: '2001-01-01' })
    expect(csv.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'cache-control': 'no-store',
      'content-disposition': expect.stringMatching(
        new RegExp(`^attachment; filename="audit-tenant-${north.id}-\\d{8}T\\d{6}Z\\.csv"$`),
      ),
    })
    const text = await textOf(csv)
    expect(text).toMatch(/^\ufeffid,tenant_id,user_id,[a-z_,]+\r\n$/)
    expect(text).toContain(',user_name,resource_name')
    const lines = await open(auditor, { format: 'ndjson', to_date: '2001-01-01' })
    expect(lines.headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-disposition': expect.stringMatching(/Z\.ndjson"$/),
    })
    expect(await textOf(lines)).toBe('')
  })

  it("contains only entries of the caller's tenant, or all tenants for a superadmin", async () => {
    const tenants = async (by: Person, query: Query = {}) => {
      const entries = await exported(by, { action: ['user.created', 'tenant.created'], ...query })
      return [...new Set(entries.map(({ tenant_id }) => tenant_id))].sort()
    }
    expect(await tenants(south.people.auditor)).toEqual([south.id])
    expect(await tenants(root, { tenant_id: String(south.id) })).toEqual([south.id])
    expect(await tenants(root)).toEqual(expect.arrayContaining([north.id, south.id]))
    const foreign = await open(south.people.admin, { tenant_id: String(north.id) })
    expect([foreign.statusCode, JSON.parse(await textOf(foreign)).code]).toEqual([
      403,
      'other_tenant',
    ])
    expect((await open(south.people.doctor)).statusCode).toBe(403)
  })

  it('never contains CSV cells that a spreadsheet would execute', async () => {
    const hostile = ['=1+1', '+1', '-1', '@SUM(A1)', '\tSUM(1)', 'a","=1', 'a;=1', '\r=1', 'Zoë\n2']
    await service.database.sql(
      `insert into journal (tenant_id, action, resource_type, resource_id, user_agent)
       select $1, 'webhook.updated', 'webhook', t, t from unnest($2::text[]) t`,
      [south.id, hostile],
    )
    const text = await textOf(await open(south.people.admin, { action: 'webhook.updated' }))
    const cells = text
      .slice(1)
      .matchAll(/(?:^|,|\r\n)(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?=,|\r\n|$)/g)
      .map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
      .toArray()
    for (const value of hostile.slice(0, 5))
      expect([value, cells.filter((cell) => cell === `'${value}`)]).toEqual([
        value,
        [`'${value}`, `'${value}`],
      ])
    expect(cells).toContain('a","=1')
    expect(cells).toContain("a;'=1")
    expect(cells).toContain("'\r'=1")
    expect(cells).toContain('Zoë\n2')
    expect(cells.filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([])
  })
})

describe('an export of many entries', () => {
  it('is complete and without duplicates, and needs a limited amount of memory', async () => {
    const { admin } = north.people
    const response = await open(admin, { format: 'ndjson', group: 'department' })
    const ids = new Set<number>()
    let [rest, bytes] = ['', 0]
    const samples: number[] = []
    const before = bytesInUse()
    for await (const chunk of response.setEncoding('utf8')) {
      bytes += chunk.length
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) ids.add(JSON.parse(line).id)
      if (bytes > (samples.length + 1) * 8 * MIB) samples.push(bytesInUse() - before)
    }
    expect(rest).toBe('')
    expect(ids.size).toBeGreaterThanOrEqual(MANY)
    expect(bytes).toBeGreaterThan(MANY * BYTES)
    expect(samples.length).toBeGreaterThan(5)
    // Takes the lowest of several samples, because buffers are freed some time after collection. A leak raises all
    // samples.
    expect(Math.min(...samples.slice(-4))).toBeLessThan(20 * MIB)
    expect((await journaled(admin)).at(-1)?.changes).toMatchObject({ entries: ids.size })
  })

  it('does not read ahead of a slow receiver, and is journaled if that receiver disconnects', async () => {
    const person = await newColleague(service, north, 'auditor')
    const response = await open(person, { group: 'department' })
    await once(response, 'readable')
    response.destroy()
    const entry = await ended(person, 'aborted')
    expect(entry?.changes.entries).toBeLessThan(MANY / 2)
    expect(await journaled(person)).toHaveLength(2)
  })

  it('is aborted once the caller is signed out', async () => {
    const person = await newColleague(service, north, 'auditor')
    const response = await open(person, { group: 'department' })
    await once(response, 'readable')
    await service.database.sql('update sessions set ended_at = now() where user_id = $1', [
      person.id,
    ])
    await expect(textOf(response)).rejects.toThrow('aborted')
    expect((await ended(person, 'aborted'))?.changes.entries).toBeLessThan(MANY / 2)
  })

  it('can run twice concurrently for one user, but not three times', async () => {
    const [person, other] = [
      await newColleague(service, north, 'auditor'),
      await newColleague(service, north, 'auditor'),
    ]
    const running = [
      await open(person, { group: 'department' }),
      await open(person, { group: 'department' }),
    ]
    const third = await open(person)
    expect([third.statusCode, third.headers['retry-after']]).toEqual([429, '10'])
    expect(JSON.parse(await textOf(third)).code).toBe('too_many_requests')
    expect((await open(other, { to_date: '2001-01-01' })).statusCode).toBe(200)
    for (const response of running) response.destroy()
    await until('a slot is free', async () => {
      const { statusCode } = await open(person, { to_date: '2001-01-01' })
      return statusCode === 200 || undefined
    })
  })
})

describe('the journal of exports', () => {
  it('contains two entries for a complete export, with its filters and number of entries', async () => {
    const person = await newColleague(service, south, 'auditor')
    const query = { group: 'tenant', user_id: String(root.id), to_date: '2999-01-01' }
    const { length } = await exported(person, query)
    const format = 'ndjson'
    const filters = { group: ['tenant'], user_id: root.id, to_date: '2999-01-01' }
    const entries = await journaled(person)
    expect(entries).toMatchObject([
      { tenant_id: south.id, changes: { state: 'started', format, filters } },
      {
        resource_type: 'audit_log',
        changes: { state: 'completed', format, filters, entries: length },
      },
    ])
    expect(new Set(entries.map(({ request }) => request)).size).toBe(1)
  })

  it('is visible to the exported tenant, or to the platform tenant if all tenants were exported', async () => {
    const before = (await journaled(root)).length
    await exported(root, { tenant_id: String(south.id), to_date: '2001-01-01' })
    await exported(root, { to_date: '2001-01-01' })
    const tenants = (await journaled(root)).slice(before).map(({ tenant_id }) => tenant_id)
    expect(tenants).toEqual([south.id, south.id, root.tenant_id, root.tenant_id])
  })

  it('contains no entry for a refused export or a HEAD request', async () => {
    const person = await newColleague(service, south, 'auditor')
    expect((await open(person, { format: 'xml' })).statusCode).toBe(422)
    const head = await service.call('HEAD', '/api/admin/audit/export', { token: person.token })
    expect(head.status).toBe(200)
    await service.call('GET', '/api/users/me', { token: person.token })
    // Ends the session without notifying a node, so that the session is still cached.
    await service.database.sql('update sessions set ended_at = now() where user_id = $1', [
      person.id,
    ])
    expect((await open(person)).statusCode).toBe(401)
    expect(await journaled(person)).toEqual([])
  })
})

/** Returns the bytes in use after garbage collection, including memory outside the heap. */
function bytesInUse(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return heapUsed + external + arrayBuffers
}
