/**
 * Resets a password with a mailed link. The link is valid once and for an hour, and its use ends every other session.
 */
import pg from 'pg'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { HOUR, MINUTE } from '../../src/lib/clock.ts'
import { atOnce, tally } from '../races/race.ts'
import { newColleague, refresh, standing } from '../sessions/users.ts'
import { forgive, mailedToken, mailsTo } from '../support/accounts.ts'
import {
  type Clinic,
  makeClinic,
  PASSWORD,
  type Person,
  signIn,
  superadmin,
} from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  actionsAbout,
  askForLink,
  inventedToken,
  LINK_EXPIRED,
  login,
  PROXIED,
  register,
  resetPassword,
  verifyEmail,
} from './people.ts'

const NEW = 'renewed-Horse-5'

let service: Service
let root: Person
let clinic: Clinic
let admin: string

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

// Signs the administrator in again, because the session expires when a test advances the clock.
beforeEach(async () => {
  const { email, password } = clinic.people.admin
  const tokens = await signIn(service, { email, password, subdomain: 'north' })
  admin = tokens.access_token
  clinic.people.admin.token = admin
})

/** Creates a colleague with a session. Returns the colleague and the token of a reset link. */
async function forgetful(): Promise<{ person: Person; token: string }> {
  const person = await newColleague(service, clinic)
  return { person, token: await newLink(person.email) }
}

async function newLink(email: string, seen = 0): Promise<string> {
  await askForLink(service, 'request-reset', email, 'north')
  return mailedToken(service, email, 'reset-password', seen)
}

const asAdmin = (method: string, path: string, body?: object) =>
  service.call(method, path, { token: admin, body })

describe('a password reset link', () => {
  test('is refused without blocking other requests while its user is being deleted', async () => {
    const { person, token } = await forgetful()
    const other = new pg.Client({ connectionString: service.database.url })
    await other.connect()
    try {
      // This connection detects deadlocks first, so that in a deadlock this connection fails instead of the service's.
      await other.query("set deadlock_timeout = '1ms'")
      await other.query('begin')
      // Locks in the order of a deletion: the user first, then the rows that reference the user.
      await other.query('select id from users where id = $1 for update', [person.id])
      const answering = resetPassword(service, token, NEW)
      await until('the link waits for the user', async () => {
        const waiting = await service.database.sql(
          `select pid from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return waiting.length > 0 ? true : undefined
      })
      await other.query('delete from account_tokens where user_id = $1', [person.id])
      await other.query('delete from users where id = $1', [person.id])
      await other.query('commit')
      expect(await answering).toMatchObject({ status: 400, body: LINK_EXPIRED })
    } finally {
      await other.end()
    }
  })

  test('sets the password and ends every session immediately, on every node', async () => {
    const { person, token } = await forgetful()
    // The other node sends the mails. This node only queues them.
    const node = await openService({
      config: PROXIED,
      database: service.database,
    })
    const other = await login(node, person.email, 'north')
    const { status, body } = await resetPassword(service, token, NEW)
    expect([status, typeof body.detail]).toEqual([200, 'string'])
    expect(await standing(service, person.token)).toBe(401)
    expect(await standing(service, other.body.access_token)).toBe(401)
    expect((await refresh(service, person.refresh)).status).toBe(401)
    expect((await refresh(node, other.body.refresh_token)).status).toBe(401)
    await until('the other node has heard', async () =>
      (await standing(node, other.body.access_token)) === 401 ? true : undefined,
    )
    expect((await login(service, person.email, 'north')).status).toBe(401)
    expect((await login(service, person.email, 'north', NEW)).status).toBe(200)
    expect(await actionsAbout(service, person.id)).toEqual(
      expect.arrayContaining(['auth.reset_requested', 'user.password_changed']),
    )
  })

  test('expires after an hour', async () => {
    const [early, late] = [await forgetful(), await forgetful()]
    service.clock.advance(HOUR - MINUTE)
    expect((await resetPassword(service, early.token)).status).toBe(200)
    service.clock.advance(2 * MINUTE)
    const { status, body } = await resetPassword(service, late.token)
    expect([status, body]).toMatchObject([400, LINK_EXPIRED])
    expect((await login(service, late.person.email, 'north')).status).toBe(200)
  })

  test("succeeds for only one of sixteen concurrent callers, and sets that caller's password", async () => {
    const { person, token } = await forgetful()
    const password = (index: number) => `raced-Horse-${index}-x`
    const answers = await atOnce((index) => resetPassword(service, token, password(index)))
    expect(tally(answers)).toEqual({ 200: 1, 400: 15 })
    const winner = answers.findIndex(({ status }) => status === 200)
    expect((await login(service, person.email, 'north', password(winner))).status).toBe(200)
    const loser = password((winner + 1) % 16)
    expect((await login(service, person.email, 'north', loser)).status).toBe(401)
  })

  test('is replaced by a newer link', async () => {
    const { person, token } = await forgetful()
    const newer = await newLink(person.email, 1)
    expect((await resetPassword(service, token)).body).toMatchObject(LINK_EXPIRED)
    expect((await resetPassword(service, newer)).status).toBe(200)
  })

  test('stays valid if the chosen password is refused', async () => {
    const { person, token } = await forgetful()
    const local = person.email.slice(0, person.email.indexOf('@'))
    for (const weak of ['short-1', 'password123', `my-${local}-Horse`, 'x7'.repeat(65)]) {
      const { status, body } = await resetPassword(service, token, weak)
      expect(status).toBe(422)
      expect(body.detail[0].loc).toEqual(['body', 'new_password'])
    }
    expect(await standing(service, person.token)).toBe(200)
    expect((await resetPassword(service, token)).status).toBe(200)
  })

  test('is never mailed to an unconfirmed address', async () => {
    await asAdmin('PUT', `/api/admin/tenants/${clinic.id}`, { settings: { registration: 'open' } })
    const { email } = await register(service, 'north')
    const body = { email: 'mistyped@north.test', full_name: 'Mistyped', role: 'nurse' }
    await asAdmin('POST', '/api/admin/users', { ...body, password: PASSWORD })
    for (const address of [email, body.email])
      expect((await askForLink(service, 'request-reset', address, 'north')).status).toBe(202)
    await service.idle('jobs')
    for (const address of [email, body.email])
      expect((await mailsTo(service, address)).map(({ subject }) => subject)).toEqual([
        'Confirm your e-mail address',
      ])
  })

  test('does not let a blocked user sign in', async () => {
    const { person, token } = await forgetful()
    await asAdmin('POST', `/api/admin/users/${person.id}/block`)
    expect((await resetPassword(service, token, NEW)).status).toBe(200)
    const { status, body } = await login(service, person.email, 'north', NEW)
    expect([status, body.code]).toEqual([403, 'account_blocked'])
  })

  test('becomes invalid when its user or tenant is deleted', async () => {
    const { person, token } = await forgetful()
    await asAdmin('DELETE', `/api/admin/users/${person.id}`)
    expect((await resetPassword(service, token)).body).toMatchObject(LINK_EXPIRED)
    const closing = await makeClinic(service, await superadmin(service), 'closing')
    const email = closing.people.nurse.email
    await askForLink(service, 'request-reset', email, 'closing')
    const link = await mailedToken(service, email, 'reset-password')
    const { token: by } = await superadmin(service)
    await service.call('DELETE', `/api/admin/tenants/${closing.id}`, { token: by })
    expect((await resetPassword(service, link)).body).toMatchObject(LINK_EXPIRED)
  })

  test('is refused if its token is unknown or was issued for another purpose', async () => {
    const { token } = await forgetful()
    const elsewhere = token.replace(/^\d+/, String(root.tenant_id))
    for (const wrong of [inventedToken(clinic.id), elsewhere, `${token}x`, 'x', '1.', '\u0085'])
      expect(await resetPassword(service, wrong)).toMatchObject({ status: 400, body: LINK_EXPIRED })
    expect(await verifyEmail(service, token)).toMatchObject({ status: 400, body: LINK_EXPIRED })
    expect((await resetPassword(service, token)).status).toBe(200)
  })
})

describe('a reset link becomes invalid when the password is changed', () => {
  test('by an administrator', async () => {
    const { person, token } = await forgetful()
    const path = `/api/admin/users/${person.id}/password`
    expect((await asAdmin('PUT', path, { password: 'given-Horse-61' })).status).toBeLessThan(300)
    expect((await resetPassword(service, token)).body).toMatchObject(LINK_EXPIRED)
  })

  test('by the user', async () => {
    const { person, token } = await forgetful()
    const changed = await service.call('PUT', '/api/users/me/password', {
      token: person.token,
      body: { current_password: PASSWORD, new_password: 'own-Choice-62' },
    })
    expect(changed.status).toBeLessThan(300)
    expect((await resetPassword(service, token)).body).toMatchObject(LINK_EXPIRED)
    expect((await login(service, person.email, 'north', 'own-Choice-62')).status).toBe(200)
  })
})

describe('a request for a reset link', () => {
  test('gets the same response for every caller and every address', async () => {
    const known = await newColleague(service, clinic)
    const blocked = await newColleague(service, clinic)
    await asAdmin('POST', `/api/admin/users/${blocked.id}/block`)
    const asked = [
      [known.email.toUpperCase(), 'NORTH'],
      [blocked.email, 'north'],
      ['nobody@nowhere.test', 'north'],
      [known.email, 'nowhere'],
      ['not a valid e-mail address', undefined],
    ] as const
    const answers = []
    for (const [email, subdomain] of asked)
      answers.push(await askForLink(service, 'request-reset', email, subdomain))
    for (const { status, body } of answers) {
      expect(status).toBe(202)
      expect(body).toEqual(answers[0]?.body)
      expect(body.email_verified).toBeNull()
    }
    await mailedToken(service, known.email, 'reset-password')
    await service.idle('jobs')
    const mails = await mailsTo(service, known.email)
    expect(mails.filter(({ subject }) => subject === 'Choose a new password')).toHaveLength(1)
    expect(await mailsTo(service, 'nobody@nowhere.test')).toEqual([])
  })

  test('does not count against the limit of the mailbox if it sends no mail', async () => {
    const { email } = await newColleague(service, clinic)
    await service.idle('jobs')
    await forgive(service)
    for (let times = 0; times < 4; times += 1) {
      await askForLink(service, 'request-reset', email, 'nowhere')
      await askForLink(service, 'resend-verification', email, 'north')
    }
    await service.idle('jobs')
    // The table contains only one row for each of the eight networks that called.
    expect(await service.database.sql('select from throttles')).toHaveLength(8)
    await askForLink(service, 'request-reset', email, 'north')
    const token = await mailedToken(service, email, 'reset-password')
    expect((await resetPassword(service, token)).status).toBe(200)
  })

  test('leaves the password and the current session unchanged', async () => {
    const { person } = await forgetful()
    expect(await standing(service, person.token)).toBe(200)
    expect((await login(service, person.email, 'north')).status).toBe(200)
  })

  test('finds the account without a tenant if only one account has the address', async () => {
    const { email } = await newColleague(service, clinic)
    await askForLink(service, 'request-reset', email)
    const token = await mailedToken(service, email, 'reset-password')
    expect((await resetPassword(service, token)).status).toBe(200)
  })
})
