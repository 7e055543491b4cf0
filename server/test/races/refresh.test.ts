/** Many concurrent uses of one refresh token: on one node, on two nodes, and while its session ends. */
import { beforeAll, describe, expect, test } from 'vitest'
import { jtiOf, newColleague, newPerson, refresh, standing } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { AT_ONCE, atOnce, tally } from './race.ts'

let nodes: Service[]
let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  nodes = [service, await openService({ database: service.database })]
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

describe('sixteen concurrent uses of one refresh token', () => {
  test.each([1, 2])(
    'get the same new token, and rotate the token once, on %i nodes',
    async (count) => {
      const person = await newColleague(service, clinic)
      const answers = await atOnce((index) => refresh(node(index % count), person.refresh))
      expect(tally(answers)).toEqual({ 200: AT_ONCE })
      const successors = new Set(answers.map(({ body }) => body.refresh_token))
      expect(successors.size).toBe(1)
      expect(successors).not.toContain(person.refresh)
      const jti = jtiOf(person.token)
      expect(new Set(answers.map(({ body }) => jtiOf(body.access_token)))).toEqual(new Set([jti]))
      expect(await tokensOf(jti)).toEqual([{ spent: false }, { spent: true }])
      expect(await entriesOf(jti, 'auth.token_refreshed')).toBe(1)
      expect(await entriesOf(jti, 'auth.refresh_reused')).toBe(0)
      expect((await refresh(service, [...successors][0])).status).toBe(200)
    },
  )

  test('get no token if the session has ended', async () => {
    const person = await newColleague(service, clinic)
    await service.call('POST', '/api/auth/logout', { token: person.token })
    expect(tally(await atOnce(() => refresh(service, person.refresh)))).toEqual({ 401: AT_ONCE })
  })
})

describe('a session that ends while it is refreshed', () => {
  const endings: [string, (person: Person) => Promise<Answer>][] = [
    ['its user signs out', ({ token }) => service.call('POST', '/api/auth/logout', { token })],
    ['its user is blocked', ({ id }) => admin('POST', `/api/admin/users/${id}/block`)],
    [
      'its user gets another role',
      ({ id }) => admin('PUT', `/api/admin/users/${id}/role`, { role: 'nurse' }),
    ],
    [
      'its user gets another password',
      ({ id }) => admin('PUT', `/api/admin/users/${id}/password`, { password: 'new-Horse-77' }),
    ],
    ['its user is deleted', ({ id }) => admin('DELETE', `/api/admin/users/${id}`)],
  ]
  test.each(endings)('cannot be continued after %s', async (_, end) => {
    for (let round = 0; round < 6; round += 1) {
      const person = await newColleague(service, clinic)
      await raced(person, () => end(person), round)
    }
  })

  test('cannot be continued after its tenant is deactivated', async () => {
    for (let round = 0; round < 4; round += 1) {
      const other = await makeClinic(service, root, `gone-${round}`)
      const person = await newPerson(service, root, {
        tenantId: other.id,
        subdomain: other.subdomain,
      })
      const path = `/api/admin/tenants/${other.id}`
      await raced(
        person,
        () => service.call('PUT', path, { token: root.token, body: { is_active: false } }),
        round,
      )
    }
  })

  /** Sends `head` refreshes, then ends the session with `end`, then sends 8 more refreshes, without waiting in between. */
  async function raced(person: Person, end: () => Promise<Answer>, head: number): Promise<void> {
    const before = atOnce(() => refresh(service, person.refresh), head)
    const ending = end()
    const after = atOnce(() => refresh(service, person.refresh), 8)
    expect([200, 204]).toContain((await ending).status)
    const answers = [...(await before), ...(await after)]
    expect(new Set(answers.map(({ status }) => status)).difference(new Set([200, 401]))).toEqual(
      new Set(),
    )
    for (const { body } of answers.filter(({ status }) => status === 200)) {
      expect(await standing(service, body.access_token)).toBe(401)
      expect((await refresh(service, body.refresh_token)).status).toBe(401)
    }
    expect(await standing(service, person.token)).toBe(401)
  }
})

const node = (index: number): Service => nodes[index] ?? service

function admin(method: string, path: string, body?: object): Promise<Answer> {
  return service.call(method, path, { token: clinic.people.admin.token, ...(body ? { body } : {}) })
}

function tokensOf(jti: string) {
  return service.database.sql(
    `select spent_at is not null as spent from refresh_tokens where session_id = $1 order by 1`,
    [jti],
  )
}

async function entriesOf(jti: string, action: string): Promise<number> {
  const rows = await service.database.sql(
    'select 1 from journal where resource_id = $1 and action = $2',
    [jti, action],
  )
  return rows.length
}
