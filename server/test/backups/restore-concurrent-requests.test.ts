/** A restore as seen by callers: no acknowledged change is lost, and the service answers 503 until the restore ends. */
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { ownerClient } from '../../src/platform/db/index.ts'
import { LOCKS } from '../../src/platform/db/lock-numbers.ts'
import type { Clinic, Person } from '../support/clinics.ts'
import { OF_THIS_DATABASE } from '../support/database.ts'
import { until } from '../support/until.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { ended, make } from './support.ts'

let at: Restoring
let service: Restoring['service']
let root: Restoring['root']
let call: Restoring['call']
let restore: Restoring['restore']
let nameOf: Restoring['nameOf']
let rename: Restoring['rename']
/** The clinic of the test. */
let clinic: Clinic

beforeAll(async () => {
  at = await openRestoring()
  ;({ service, root, call, restore, nameOf, rename } = at)
})

beforeEach(async () => {
  clinic = await at.anotherClinic()
})

test('each change that is acknowledged during a restore is kept in the database or in the safety backup', async () => {
  const { admin, nurse } = clinic.people
  const id = await make(service, root, { type: 'tenant', tenant_id: clinic.id })
  let last = ''
  let isOver = false
  const writing = (async () => {
    for (let count = 1; !isOver; count += 1) {
      const name = `Name ${count}`
      const answer = await rename(admin, nurse.id, name)
      if (answer.status === 200) last = name
      // The restore has ended the session, so no later request can be acknowledged.
      else if (answer.status === 401) return
      else expect(answer.status).toBe(503)
      await new Promise((resolve) => void setTimeout(resolve, 5))
    }
  })()
  const { safety_backup_id, as } = await restore(root, { backup_id: id }).finally(() => {
    isOver = true
  })
  await writing
  const now = await nameOf(nurse.id)
  if (now === last) return
  await restore(as, { backup_id: safety_backup_id })
  expect(await nameOf(nurse.id)).toBe(last)
})

test('the service answers 503 until a killed restore has lost its locks, and then works as before', async () => {
  const { admin, nurse } = clinic.people
  const id = await make(service, root)
  await rename(root, nurse.id, 'Since')
  const { body } = await call(root, 'POST', '/api/admin/backup/restore', {
    backup_id: id,
    confirm: true,
  })
  const refused = await until('everybody to be refused', async () => {
    const answer = await call(admin, 'GET', '/api/admin/users')
    return answer.status === 503 ? answer : undefined
  })
  expect(refused.body.code).toBe('restoring')
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect((await service.call('GET', '/healthz')).status).toBe(200)
  expect((await call(root, 'GET', `/api/admin/backup/status/${body.job_id}`)).status).toBe(200)
  await at.sql(
    `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = $1 and ${OF_THIS_DATABASE}`,
    [LOCKS.maintenance],
  )
  expect(await at.over(body.job_id)).toMatchObject({ status: 'failed' })
  expect(await nameOf(nurse.id)).toBe('Since')
  // The killed restore changed nothing, so the same session is still valid.
  await until('it to be open', async () => {
    const { status } = await call(admin, 'GET', '/api/admin/users')
    return status === 200 || undefined
  })
})

test('a clinic that is being restored refuses sign-ins and refreshes, while other clinics are served', async () => {
  const { admin } = clinic.people
  const signing = ({ email, password }: Person, subdomain: string) =>
    service.call('POST', '/api/auth/login', { body: { email, password, subdomain } })
  const { body: tokens } = await signing(admin, clinic.subdomain)
  const client = ownerClient(service.database.address)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('select pg_advisory_lock($1, $2)', [LOCKS.maintenance, clinic.id])
  await until('the clinic to be in maintenance mode', async () => {
    const { status } = await call(admin, 'GET', '/api/users/me')
    return status === 503 || undefined
  })
  expect(await signing(admin, clinic.subdomain)).toMatchObject({
    status: 503,
    body: { code: 'restoring' },
  })
  expect((await signing({ ...admin, password: 'wrong one' }, clinic.subdomain)).status).toBe(401)
  const refresh = () =>
    service.call('POST', '/api/auth/refresh', { body: { refresh_token: tokens.refresh_token } })
  expect(await refresh()).toMatchObject({ status: 503, body: { code: 'restoring' } })
  expect((await signing(at.south.people.admin, 'south')).status).toBe(200)
  await client.query('select pg_advisory_unlock($1, $2)', [LOCKS.maintenance, clinic.id])
  await until('the clinic to be open', async () => (await refresh()).status === 200 || undefined)
})

test('a dry run reports what would change, and changes nothing', async () => {
  const { nurse } = clinic.people
  const id = await make(service, root)
  await rename(root, nurse.id, 'Since')
  await call(root, 'POST', `/api/admin/users/${nurse.id}/block`)
  const { body } = await call(root, 'POST', '/api/admin/backup/restore', {
    backup_id: id,
    dry_run: true,
  })
  const job = await ended(service, root, body.job_id)
  expect(job.result).toMatchObject({
    dry_run: true,
    tables: { users: { added: 0, changed: 1, removed: 0 } },
    access: { cases: [{ table: 'users', id: nurse.id, fields: ['is_active'] }] },
    safety_backup_id: null,
  })
  expect(await nameOf(nurse.id)).toBe('Since')
  expect((await call(root, 'GET', '/api/users/me')).status).toBe(200)
})
