/** Registrations in progress while a clinic changes its settings. The committed settings apply. */
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ownerClient, type PgConnection } from '../../src/platform/db/index.ts'
import { form, newTenant, post } from '../accounts/people.ts'
import { fresh } from '../sessions/users.ts'
import { superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
let other: PgConnection
beforeAll(async () => {
  service = await openService()
})
beforeEach(async () => {
  other = ownerClient(service.database.address)
  await other.connect()
})
afterEach(() => other.end())

const CHANGES = [
  ['closes', `settings = '{"registration": "closed"}'`, 403, 'registration_closed'],
  ['is deactivated', 'is_active = false', 403, 'tenant_inactive'],
  ['is deleted', 'deleted_at = now()', 404, 'not_found'],
] as const

/** Registers while a transaction changes the clinic. Other transactions do not see the change before its commit. */
async function registerBeside(change: string) {
  const { token } = await superadmin(service)
  const tenant = await newTenant(service, token, { registration: 'open' })
  await other.query('begin')
  await other.query(`update tenants set ${change} where id = $1`, [tenant.id])
  const email = `${fresh('late')}@a.test`
  const registered = post(service, '/api/auth/register', {
    body: form(tenant.subdomain, { email }),
  })
  await until('the registration to wait', async () => {
    const { rows } = await other.query('select pg_backend_pid() as pid')
    const [row] = await service.database.sql(
      'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
      [rows[0].pid],
    )
    return row
  })
  await other.query('commit')
  return { answer: await registered, email }
}

test.each(CHANGES)(
  'a registration is rejected at a clinic that %s',
  async (_, change, status, code) => {
    const { answer, email } = await registerBeside(change)
    expect(answer).toMatchObject({ status, body: { code } })
    expect(await service.database.sql('select from users where email = $1', [email])).toEqual([])
  },
)

test('a registration in progress stays pending if the clinic starts to require approval', async () => {
  const { answer } = await registerBeside(`settings = '{"registration": "approval"}'`)
  expect(answer).toMatchObject({ status: 201, body: { is_active: false } })
})
