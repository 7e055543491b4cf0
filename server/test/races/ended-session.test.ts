/**
 * A user who is signed out while a request runs: the request changes nothing. Calls every operation with a session that
 * ends between authentication and the transaction. Then calls it with a valid session.
 */
import { beforeAll, expect, test } from 'vitest'
import { openWalkable, type Walkable, walk } from '../contract/walk.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'

/** Writing operations that change no record and therefore write no journal entry. */
const CHANGES_NOTHING = ['POST /api/patients/search', 'POST /api/admin/cache/warmup']

let walkable: Walkable

/** The operation, the status, and whether the journal has an entry of the call. */
const refused: [string, number, boolean][] = []

beforeAll(async () => {
  walkable = await openWalkable()
  const { service } = walkable
  const { sql } = service.database
  const [{ definition }] = (await sql(
    `select pg_get_functiondef('session_holds'::regproc) as definition`,
  )) as [{ definition: string }]
  const ended = definition
    .replace(/ and \(s\.ended_at is null[^)]*\)[^)]*\)/, ' and false')
    .replace('for share', '')
  const isJournaled = async (requestId: unknown) =>
    (await sql('select from journal where request_id = $1', [requestId])).length > 0
  const { call } = service
  let before: Promise<unknown> = Promise.resolve()
  /** Runs pieces of work one after the other, because the calls of the walk may overlap. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = before.then(work)
    before = mine.catch(() => undefined)
    return mine
  }
  const callTwice: typeof call = async (method, path, options = {}) => {
    if (method !== 'GET' && options.token) {
      await sql(ended)
      const answer = await call(method, path, options)
      await sql(definition)
      const isEntered = await isJournaled(answer.headers['x-request-id'])
      refused.push([`${method} ${path}`, answer.status, isEntered])
    }
    return call(method, path, options)
  }
  service.call = (...args) => inTurn(() => callTwice(...args))
  await walk(walkable)
})

test('a write request whose session ends while the request runs gets 401, and journals nothing', () => {
  expect(refused.length).toBeGreaterThan(60)
  const gone = refused.filter(
    ([name, status, isJournaled]) =>
      !CHANGES_NOTHING.includes(name) && (status !== 401 || isJournaled),
  )
  expect(gone).toEqual([])
})

test('no waiting request of a blocked user is carried out once the block was answered', async () => {
  const service = await openService()
  const root = await superadmin(service)
  const clinic = await makeClinic(service, root, 'queued')
  const { token, id } = clinic.people.doctor
  const entries = () =>
    service.database.sql<{ id: number; action: string }>(
      `select id, action from journal where user_id = $1 and action like 'patient.%' order by id`,
      [id],
    )
  const lists = Array.from({ length: 90 }, () => service.call('GET', '/api/patients', { token }))
  const creations = Array.from({ length: 60 }, (_, number) =>
    service.call('POST', '/api/patients', { token, body: { full_name: `Patient ${number}` } }),
  )
  const blocked = await service.call('POST', `/api/admin/users/${id}/block`, {
    token: clinic.people.admin.token,
  })
  const before = new Set((await entries()).map((entry) => entry.id))
  expect(blocked.status).toBe(200)
  const answers = await Promise.all([...lists, ...creations])
  expect(answers.some(({ status }) => status === 401)).toBe(true)
  const late = (await entries()).filter((entry) => !before.has(entry.id))
  // Ignores late reads: the block waits for pending writes but not for reads, and two lists of a caller run at once.
  expect(late.filter(({ action }) => action !== 'patient.listed')).toEqual([])
  expect(late.length).toBeLessThanOrEqual(2)
})
