/** Confirms that a user owns an address, with the newest mailed link, once and within a day. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DAY, MINUTE } from '../../src/lib/clock.ts'
import { atOnce, tally } from '../races/race.ts'
import { mailedToken, mailsTo } from '../support/accounts.ts'
import { PASSWORD, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  actionsAbout,
  askForLink,
  form,
  inventedToken,
  LINK_EXPIRED,
  login,
  newAddress,
  newTenant,
  PROXIED,
  post,
  register,
  registerConfirmed,
  verifyEmail,
} from './people.ts'

let service: Service
let node: Service
let admin: string
let open: Awaited<ReturnType<typeof newTenant>>

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  // The other node sends the mails. This node only queues them.
  node = await openService({ config: PROXIED, database: service.database })
  await becomeAdmin()
  open = await newTenant(service, admin, { registration: 'open' })
})

// Signs the administrator in again, because the session expires when a test advances the clock.
beforeEach(becomeAdmin)

async function becomeAdmin(): Promise<void> {
  admin = (await superadmin(service)).token
}

function advance(ms: number): Promise<void> {
  for (const { clock } of [service, node]) clock.advance(ms)
  return becomeAdmin()
}

function linkTo(email: string, seen = 0): Promise<string> {
  return mailedToken(service, email, 'verify-email', seen)
}

const isVerified = async (id: number) =>
  (await service.call('GET', `/api/admin/users/${id}`, { token: admin })).body.email_verified

describe('a confirmation link', () => {
  test('confirms the address, and existing sessions show the address as confirmed', async () => {
    const { id, email } = await register(service, open.subdomain)
    const sessions = await atOnce(() => login(service, email, open.subdomain), 2)
    const profiles = () =>
      Promise.all(
        sessions.map(async ({ body }, index) => {
          const on = index ? node : service
          return (await on.call('GET', '/api/auth/me', { token: body.access_token })).body
            .email_verified
        }),
      )
    expect(await profiles()).toEqual([false, false])
    const { status, body } = await verifyEmail(service, await linkTo(email))
    expect([status, body.email_verified]).toEqual([200, true])
    const own = sessions[0]?.body.access_token
    const me = await service.call('GET', '/api/users/me', { token: own })
    expect(me.body.email_verified).toBe(true)
    await until('the other node has heard', async () =>
      (await profiles()).every(Boolean) ? true : undefined,
    )
    expect(await isVerified(id)).toBe(true)
    expect(await actionsAbout(service, id)).toContain('user.email_verified')
  })

  test('expires after a day', async () => {
    const patient = await register(service, open.subdomain)
    const late = await register(service, open.subdomain)
    const links = [await linkTo(patient.email), await linkTo(late.email)] as const
    await advance(DAY - MINUTE)
    expect((await verifyEmail(service, links[0])).status).toBe(200)
    await advance(2 * MINUTE)
    const { status, body } = await verifyEmail(service, links[1])
    expect([status, body]).toMatchObject([400, LINK_EXPIRED])
    expect(await isVerified(late.id)).toBe(false)
  })

  test('succeeds for only one of sixteen concurrent callers, and the others get "link used"', async () => {
    const { id, email } = await register(service, open.subdomain)
    const token = await linkTo(email)
    const answers = await atOnce((index) => verifyEmail(index % 2 ? node : service, token))
    expect(tally(answers)).toEqual({ 200: 1, 400: 15 })
    expect((await verifyEmail(service, token)).body).toMatchObject(LINK_EXPIRED)
    const actions = await actionsAbout(service, id)
    expect(actions.filter((action) => action === 'user.email_verified')).toHaveLength(1)
  })

  test('is replaced by a newer link', async () => {
    const { email } = await register(service, open.subdomain)
    const older = await linkTo(email)
    await askForLink(service, 'resend-verification', email, open.subdomain)
    const newer = await linkTo(email, 1)
    expect(newer).not.toBe(older)
    expect((await verifyEmail(service, older)).body).toMatchObject(LINK_EXPIRED)
    expect((await verifyEmail(service, newer)).status).toBe(200)
  })

  test("does not unblock an account that still needs an administrator's approval", async () => {
    const { subdomain } = await newTenant(service, admin, {})
    const { id, email } = await register(service, subdomain)
    expect((await verifyEmail(service, await linkTo(email))).status).toBe(200)
    expect(await isVerified(id)).toBe(true)
    expect((await login(service, email, subdomain)).body.code).toBe('account_blocked')
  })

  test("is refused if the account's tenant was deactivated", async () => {
    const { id, subdomain } = await newTenant(service, admin, { registration: 'open' })
    const { email } = await register(service, subdomain)
    const token = await linkTo(email)
    const turn = (is_active: boolean) =>
      service.call('PUT', `/api/admin/tenants/${id}`, { token: admin, body: { is_active } })
    await turn(false)
    expect((await verifyEmail(service, token)).body).toMatchObject(LINK_EXPIRED)
    await turn(true)
    expect((await verifyEmail(service, token)).status).toBe(200)
  })

  test('is refused if its token is unknown or was issued for another purpose', async () => {
    const { email, tenant_id } = await register(service, open.subdomain)
    const token = await linkTo(email)
    const other = await newTenant(service, admin, {})
    const known = await registerConfirmed(service, open.subdomain)
    await askForLink(service, 'request-reset', known.email, open.subdomain)
    const forReset = await mailedToken(service, known.email, 'reset-password')
    const moved = token.replace(/^\d+/, String(other.id))
    for (const wrong of [
      inventedToken(tenant_id),
      moved,
      forReset,
      `${token}x`,
      'x',
      '0.',
      '\u2028',
    ])
      expect(await verifyEmail(service, wrong)).toMatchObject({ status: 400, body: LINK_EXPIRED })
    expect((await post(service, '/api/auth/verify-email')).status).toBe(422)
    expect((await verifyEmail(service, token)).status).toBe(200)
  })
})

describe('the password sent with a confirmation link', () => {
  const THEIRS = 'theirs-Horse-31'
  const wrong = { status: 403, body: { code: 'wrong_password' } }

  test('confirms the address if it is correct', async () => {
    const { id, email } = await register(service, open.subdomain, { password: THEIRS })
    const confirmed = await verifyEmail(service, await linkTo(email), { password: THEIRS })
    expect([confirmed.status, confirmed.body.email_verified]).toEqual([200, true])
    expect(await isVerified(id)).toBe(true)
  })

  test('must be correct if a stranger created the account, and a wrong one leaves the link valid', async () => {
    const { id, email } = await register(service, open.subdomain)
    const token = await linkTo(email)
    expect(await verifyEmail(service, token, { password: THEIRS })).toMatchObject(wrong)
    expect(await isVerified(id)).toBe(false)
    expect(await actionsAbout(service, id)).not.toContain('user.email_verified')
    expect((await verifyEmail(service, token, { password: PASSWORD })).status).toBe(200)
  })

  test('can be guessed only a few times per link', async () => {
    const { email } = await register(service, open.subdomain)
    const token = await linkTo(email)
    for (let guess = 0; guess < 5; guess += 1)
      expect(await verifyEmail(service, token, { password: `guess-${guess}` })).toMatchObject(wrong)
    const refused = await verifyEmail(service, token, { password: PASSWORD })
    expect(refused.status).toBe(429)
    await advance(Number(refused.headers['retry-after']) * 1000)
    expect((await verifyEmail(service, token, { password: PASSWORD })).status).toBe(200)
  })

  test('reveals nothing about accounts if the link is invalid', async () => {
    const { tenant_id } = await register(service, open.subdomain)
    const invented = inventedToken(tenant_id)
    for (const password of [PASSWORD, THEIRS])
      expect(await verifyEmail(service, invented, { password })).toMatchObject({
        status: 400,
        body: LINK_EXPIRED,
      })
  })

  test.each([undefined, null, {}, { password: null }])('may be left out: %j', async (body) => {
    const { id, email } = await register(service, open.subdomain)
    expect((await verifyEmail(service, await linkTo(email), body)).status).toBe(200)
    expect(await isVerified(id)).toBe(true)
  })
})

describe('a request for a new confirmation link', () => {
  test('gets the same response for every caller and every address', async () => {
    const waiting = await register(service, open.subdomain)
    const confirmed = await register(service, open.subdomain)
    await verifyEmail(service, await linkTo(confirmed.email))
    const asked = [
      [waiting.email.toUpperCase(), open.subdomain],
      [confirmed.email, open.subdomain],
      ['nobody@nowhere.test', open.subdomain],
      [waiting.email, 'nowhere'],
      ['not a valid e-mail address', undefined],
    ] as const
    const answers = []
    for (const [email, subdomain] of asked)
      answers.push(await askForLink(service, 'resend-verification', email, subdomain))
    for (const { status, body } of answers) {
      expect(status).toBe(202)
      expect(body).toEqual(answers[0]?.body)
      expect(body.email_verified).toBe(false)
    }
    await linkTo(waiting.email, 1)
    await service.idle('jobs')
    const mails = async (email: string) => (await mailsTo(service, email)).length
    expect(await mails(waiting.email)).toBe(2)
    expect(await mails(confirmed.email)).toBe(1)
    expect(await mails('nobody@nowhere.test')).toBe(0)
  })

  test('does not flood a mailbox, and does not reveal the mailbox limit to the caller', async () => {
    const { email } = await register(service, open.subdomain)
    const answers = []
    for (let asked = 0; asked < 12; asked += 1)
      answers.push(await askForLink(service, 'resend-verification', email, open.subdomain))
    expect(tally(answers)).toEqual({ 202: 12 })
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    await service.idle('jobs')
    const mails = await mailsTo(service, email)
    expect(mails.length).toBeGreaterThan(1)
    expect(mails.length).toBeLessThanOrEqual(5)
  })

  test('is throttled per IP address', async () => {
    const from = newAddress()
    const ask = () => {
      const body = { email: form(open.subdomain).email, subdomain: open.subdomain }
      return post(service, '/api/auth/resend-verification', { from, body })
    }
    const answers = await atOnce(ask, 64)
    expect(tally(answers)[202]).toBeLessThanOrEqual(32)
    const refused = answers.find(({ status }) => status === 429)
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0)
  })
})
