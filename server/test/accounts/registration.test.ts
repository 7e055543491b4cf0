/** The rules of registration: who can register, in which tenants, and what a registration creates. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Registration } from '../../src/features/auth/registration/registration.schema.ts'
import { registrationService } from '../../src/features/auth/registration/registration.service.ts'
import { tenantAsker } from '../../src/features/auth/sign-in/asked-tenant.ts'
import { systemTime } from '../../src/lib/time.ts'
import { openPasswords } from '../../src/platform/crypto/index.ts'
import { openThrottle } from '../../src/platform/throttle/index.ts'
import { mailsTo } from '../support/accounts.ts'
import { superadmin } from '../support/clinics.ts'
import { migratedDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  actionsAbout,
  form,
  login,
  newAddress,
  newTenant,
  PROXIED,
  post,
  register,
} from './people.ts'

type Tenant = Awaited<ReturnType<typeof newTenant>>

let service: Service
let token: string
let open: Tenant
let approval: Tenant
let closed: Tenant

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  token = (await superadmin(service)).token
  open = await newTenant(service, token, { registration: 'open' })
  approval = await newTenant(service, token, {})
  closed = await newTenant(service, token, { registration: 'closed' })
})

const send = (body: object, headers: Record<string, string> = {}) =>
  post(service, '/api/auth/register', { body, headers })

describe("a tenant's registration setting", () => {
  test('"open" lets a new account sign in immediately', async () => {
    const { status, body } = await send(form(open.subdomain, { department_id: open.departmentId }))
    expect(status).toBe(201)
    expect(body).toMatchObject({
      tenant_id: open.id,
      full_name: 'Anna Nováková',
      role: 'nurse',
      department_id: open.departmentId,
      department_name: 'Surgery',
      can_see_all_patients: false,
      is_active: true,
      status: 'active',
      email_verified: false,
      totp_enabled: false,
      last_login_at: null,
    })
    const signedIn = await login(service, body.email, open.subdomain)
    expect(signedIn.status).toBe(200)
    const me = await service.call('GET', '/api/users/me', { token: signedIn.body.access_token })
    expect({ ...me.body, last_login_at: null }).toEqual({ ...body, idle_minutes: 15 })
  })

  test('has a default that makes a new account wait until an administrator approves it', async () => {
    const account = await register(service, approval.subdomain)
    expect(account).toMatchObject({
      is_active: false,
      status: 'pending',
      department_name: null,
      department_id: null,
    })
    const before = await login(service, account.email, approval.subdomain)
    expect([before.status, before.body.code]).toEqual([403, 'account_blocked'])
    await service.call('POST', `/api/admin/users/${account.id}/unblock`, { token })
    expect((await login(service, account.email, approval.subdomain)).status).toBe(200)
  })

  test('"closed" refuses every registration', async () => {
    const { status, body } = await send(form(closed.subdomain))
    expect([status, body.code]).toEqual([403, 'registration_closed'])
  })

  test('is "open" for a demo tenant without the setting', async () => {
    const demo = await openService({ background: ['jobs'], config: { ...PROXIED, DEMO: true } })
    const setTo = (settings: object) =>
      demo.database.sql(`update tenants set settings = $1 where subdomain = 'demo'`, [settings])
    expect(await register(demo, 'demo')).toMatchObject({ is_active: true })
    await setTo({})
    expect(await register(demo, 'demo')).toMatchObject({ is_active: true })
    await setTo({ registration: 'approval' })
    expect(await register(demo, 'demo')).toMatchObject({ status: 'pending' })
  })
})

describe('an account created by registration', () => {
  test.each(['doctor', 'nurse', 'receptionist'])('can have the role %s', async (role) => {
    expect(await register(service, open.subdomain, { role })).toMatchObject({ role })
  })

  test.each(['admin', 'auditor', 'superadmin'])('cannot have the role %s', async (role) => {
    const { status, body } = await send(form(open.subdomain, { role }))
    expect([status, body.code]).toEqual([403, 'role_not_offered'])
  })

  test('is refused for a department of another tenant before hashing, whether or not the address is taken', async () => {
    const { email: taken } = await register(service, open.subdomain)
    const real = await openPasswords({ memoryCost: 64, timeCost: 1, parallelism: 1 }, 2, systemTime)
    let hashes = 0
    const { db } = service.app
    const registrations = registrationService({
      db,
      throttle: openThrottle(db, service.clock, silentLog),
      passwords: {
        ...real,
        hash(password, party) {
          hashes += 1
          return real.hash(password, party)
        },
      },
      recovery: {
        takeVerification: async () => true,
        sendLink: async () => undefined,
      } as never,
      askTenant: tenantAsker('wardkeep.test', false),
    })
    const codeOf = (overrides: object) =>
      registrations
        .register(form(open.subdomain, overrides) as Registration, '', {
          ip: newAddress(),
          user_agent: null,
          request_id: crypto.randomUUID(),
        })
        .then(
          () => 'made',
          (error) => error.code ?? error.issues?.[0]?.loc.join('.'),
        )
    const department_id = approval.departmentId
    const foreign = [await codeOf({ department_id, email: taken }), await codeOf({ department_id })]
    expect([foreign, hashes]).toEqual([Array(2).fill('body.department_id'), 0])
    expect([await codeOf({ email: taken }), hashes]).toEqual(['email_taken', 0])
    expect([await codeOf({}), hashes]).toEqual(['made', 1])
  })

  test('cannot activate or confirm itself, see all patients or choose another tenant', async () => {
    const body = form(approval.subdomain, {
      is_active: true,
      email_verified: true,
      email_verified_at: '2020-01-01T00:00:00Z',
      can_see_all_patients: true,
      tenant_id: open.id,
    })
    expect((await send(body)).body).toMatchObject({
      is_active: false,
      email_verified: false,
      can_see_all_patients: false,
      tenant_id: approval.id,
    })
  })

  test('is refused if a user of the same tenant has the address in any letter case', async () => {
    const { email } = await register(service, open.subdomain)
    for (const other of [email, email.toUpperCase(), ` ${email} `]) {
      const { status, body } = await send(form(open.subdomain, { email: other }))
      expect([status, body.code]).toEqual([409, 'email_taken'])
    }
    expect((await send(form(approval.subdomain, { email }))).status).toBe(201)
  })
})

describe('the tenant named in a registration', () => {
  test('must exist', async () => {
    expect((await send(form('nowhere'))).status).toBe(404)
    const gone = await newTenant(service, token, { registration: 'open' })
    await service.call('DELETE', `/api/admin/tenants/${gone.id}`, { token })
    expect((await send(form(gone.subdomain))).status).toBe(404)
  })

  test('may be omitted only if there is a single tenant', async () => {
    expect((await send(form(open.subdomain, { subdomain: undefined }))).status).toBe(404)
    expect((await send(form(open.subdomain, { subdomain: null }))).status).toBe(404)
  })

  test('must be active', async () => {
    const { id, subdomain } = await newTenant(service, token, { registration: 'open' })
    await service.call('PUT', `/api/admin/tenants/${id}`, { token, body: { is_active: false } })
    const { status, body } = await send(form(subdomain))
    expect([status, body.code]).toEqual([403, 'tenant_inactive'])
  })

  test('cannot be the platform tenant, even if its setting allows registration', async () => {
    await service.database.sql(
      `update tenants set settings = '{"registration": "open"}' where is_platform`,
    )
    const { status, body } = await send(form('platform'))
    expect([status, body.code]).toEqual([403, 'registration_closed'])
  })

  test('is found by the host name if the body names no tenant', async () => {
    const unnamed = form(open.subdomain, { subdomain: undefined })
    const byHost = await send(unnamed, { host: `${open.subdomain}.wardkeep.test:8080` })
    expect(byHost.body.tenant_id).toBe(open.id)
    const named = await send(form(approval.subdomain), { host: `${open.subdomain}.wardkeep.test` })
    expect(named.body.tenant_id).toBe(approval.id)
    for (const host of ['nowhere.wardkeep.test', `${open.subdomain}.elsewhere.test`])
      expect((await send(form('x', { subdomain: undefined }), { host })).status).toBe(404)
  })

  test('may be omitted in single-tenant mode', async () => {
    const single = await openService({
      database: await migratedDatabase(),
      config: { ...PROXIED, TENANT_MODE: 'single' },
    })
    const root = await superadmin(single)
    const only = await newTenant(single, root.token, { registration: 'open' })
    const body = form(only.subdomain, { subdomain: undefined })
    const answer = await post(single, '/api/auth/register', { body })
    expect([answer.status, answer.body.tenant_id]).toEqual([201, only.id])
  })
})

describe('a registration', () => {
  test('adds a journal entry and a confirmation link, or neither if it fails', async () => {
    const account = await register(service, open.subdomain)
    expect(await actionsAbout(service, account.id)).toEqual([
      'user.registered',
      'auth.verification_sent',
    ])
    await until('the mail lies in the outbox', async () =>
      (await mailsTo(service, account.email)).length === 1 ? true : undefined,
    )
    const lost = form(open.subdomain, { department_id: 999_999 })
    expect((await send(lost)).status).toBe(422)
    expect((await send(form(open.subdomain, { email: account.email }))).status).toBe(409)
    await service.idle('jobs')
    expect(await mailsTo(service, lost.email)).toEqual([])
    expect(await mailsTo(service, account.email)).toHaveLength(1)
  })

  test('sends no mail if the transaction is rolled back', async () => {
    const other = await openService({ background: ['jobs'], config: PROXIED })
    const { subdomain } = await newTenant(other, (await superadmin(other)).token, {})
    await other.database.sql(`
      create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'not this one'; end $$;
      create trigger refuse before insert on journal for each row
        when (new.action = 'auth.verification_sent') execute function refuse()`)
    const lost = form(subdomain)
    expect((await post(other, '/api/auth/register', { body: lost })).status).toBe(500)
    await other.database.sql('drop trigger refuse on journal')
    const made = await register(other, subdomain)
    await until('the mail lies in the outbox', async () =>
      (await mailsTo(other, made.email)).length === 1 ? true : undefined,
    )
    await other.idle('jobs')
    expect(await mailsTo(other, lost.email)).toEqual([])
    expect(await other.database.sql('select id from users where email = $1', [lost.email])).toEqual(
      [],
    )
  })
})
