/** The session of the console: its cookie, token rotation and idle limit. No other operation reads the cookie. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../src/lib/clock.ts'
import { BUILT, nameOf } from '../contract/operations.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { type Answer, type CallOptions, openService, type Service } from '../support/service.ts'
import { jtiOf, newColleague, refresh, renewAdmin, standing } from './users.ts'

const SESSION = '/api/console/session'

let service: Service
let clinic: Clinic
let person: Person

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

beforeEach(async () => {
  await renewAdmin(service, clinic)
  person = await newColleague(service, clinic, 'nurse')
})

/** Creates a browser, which stores the cookie of the last response. */
function openBrowser() {
  let cookie: string | undefined
  const call = async (method: string, path: string, options: CallOptions = {}): Promise<Answer> => {
    const headers = { ...(cookie ? { cookie } : {}), ...options.headers }
    const answer = await service.call(method, path, { ...options, headers })
    const set = answer.headers['set-cookie']
    if (set) {
      const [pair = ''] = String(set).split(';')
      cookie = pair.endsWith('=') ? undefined : pair
    }
    return answer
  }
  return {
    call,
    cookie: () => cookie,
    use: (other: string) => {
      cookie = other
    },
    signIn: () =>
      call('POST', SESSION, {
        body: { email: person.email, password: PASSWORD, subdomain: clinic.subdomain },
      }),
    refresh: () => call('POST', `${SESSION}/refresh`, { body: {} }),
    signOut: () => call('DELETE', SESSION, { body: {} }),
  }
}

const setIdle = (idle_minutes: number | undefined) =>
  service.call('PUT', `/api/admin/tenants/${clinic.id}`, {
    token: clinic.people.admin.token,
    body: { settings: idle_minutes === undefined ? {} : { idle_minutes } },
  })

const entriesOf = (jti: string) =>
  service.database.sql(`select action from journal where resource_id = $1 order by id`, [jti])

describe('a console sign-in', () => {
  test('keeps the refresh token in a cookie that scripts cannot read, and not in the response body', async () => {
    const answer = await openBrowser().signIn()
    expect(answer).toMatchObject({ status: 200, body: { user_id: person.id, expires_in: 300 } })
    expect(answer.body).not.toHaveProperty('refresh_token')
    expect(answer.body.idle_minutes).toBe(15)
    expect(answer.headers['set-cookie']).toMatch(
      /^__Host-wardkeep=\d+\.[\w-]{43}; Secure; HttpOnly; SameSite=Strict; Path=\/$/,
    )
    expect(await standing(service, answer.body.access_token)).toBe(200)
  })

  test('rejects wrong passwords and counts failures like the sign-in of the API', async () => {
    const body = { email: person.email, password: 'wrong-Horse-1', subdomain: clinic.subdomain }
    const call = (path: string) => service.call('POST', path, { body })
    for (let guess = 0; guess < 5; guess += 1)
      expect(await call(SESSION)).toMatchObject({ status: 401 })
    expect(await call('/api/auth/login')).toMatchObject({ status: 429 })
    expect(await call(SESSION)).toMatchObject({ status: 429 })
  })

  test('ends the previous session of the same browser', async () => {
    const browser = openBrowser()
    const former = await browser.signIn()
    await browser.signIn()
    expect(await standing(service, former.body.access_token)).toBe(401)
    expect((await browser.refresh()).status).toBe(200)
  })
})

describe('a console refresh', () => {
  test('answers 204 without a cookie, and 401 to an unknown cookie', async () => {
    const browser = openBrowser()
    expect((await browser.refresh()).status).toBe(204)
    browser.use('__Host-wardkeep=nonsense')
    const answer = await browser.refresh()
    expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_refresh_token' } })
    // The response must not clear the cookie, because another tab may have signed in since then.
    expect(answer.headers['set-cookie']).toBeUndefined()
  })

  test('within a minute of the last rotation neither rotates the token nor adds a journal entry', async () => {
    const browser = openBrowser()
    const { body } = await browser.signIn()
    service.clock.advance(59 * SECOND)
    const answer = await browser.refresh()
    expect(answer).toMatchObject({ status: 200, body: { user_id: person.id } })
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(await entriesOf(jtiOf(body.access_token))).toEqual([{ action: 'auth.login' }])
  })

  test('rotates the token after a minute; the previous token gets the same successor for a minute', async () => {
    const browser = openBrowser()
    await browser.signIn()
    const first = String(browser.cookie())
    service.clock.advance(MINUTE)
    await browser.refresh()
    const second = browser.cookie()
    expect(second).not.toBe(first)
    service.clock.advance(55 * SECOND)
    const late = openBrowser()
    late.use(first)
    expect((await late.refresh()).status).toBe(200)
    expect(late.cookie()).toBe(second)
    expect((await browser.refresh()).status).toBe(200)
  })

  test('ends the session if its token was replaced long ago', async () => {
    const browser = openBrowser()
    const { body } = await browser.signIn()
    const first = String(browser.cookie())
    service.clock.advance(MINUTE)
    await browser.refresh()
    service.clock.advance(61 * SECOND)
    const thief = openBrowser()
    thief.use(first)
    expect((await thief.refresh()).status).toBe(401)
    expect((await browser.refresh()).status).toBe(401)
    expect(await entriesOf(jtiOf(body.access_token))).toContainEqual({
      action: 'auth.refresh_reused',
    })
  })

  test('by twenty tabs simultaneously gives every tab an access token and the browser one cookie', async () => {
    const browser = openBrowser()
    await browser.signIn()
    service.clock.advance(2 * MINUTE)
    const cookie = String(browser.cookie())
    const tabs = Array.from({ length: 20 }, () => {
      const tab = openBrowser()
      tab.use(cookie)
      return tab
    })
    const answers = await Promise.all(tabs.map((tab) => tab.refresh()))
    expect(answers.map(({ status }) => status)).toEqual(tabs.map(() => 200))
    expect(new Set(tabs.map((tab) => tab.cookie())).size).toBe(1)
  })

  test('is refused for refresh tokens of the API, and an API refresh for tokens of the console', async () => {
    const browser = openBrowser()
    await browser.signIn()
    const [, token = ''] = String(browser.cookie()).split('=')
    expect((await refresh(service, token)).status).toBe(401)
    service.clock.advance(2 * MINUTE)
    expect((await browser.refresh()).status).toBe(200)
    service.clock.advance(2 * MINUTE)
    expect((await browser.refresh()).status).toBe(200)
    const other = openBrowser()
    other.use(`__Host-wardkeep=${person.refresh}`)
    expect((await other.refresh()).status).toBe(401)
    expect((await refresh(service, person.refresh)).status).toBe(200)
  })
})

describe('the idle limit of a console session', () => {
  test('is 15 minutes, and restarts at each use', async () => {
    const browser = openBrowser()
    await browser.signIn()
    for (let use = 0; use < 3; use += 1) {
      service.clock.advance(15 * MINUTE - SECOND)
      expect((await browser.refresh()).status).toBe(200)
    }
    service.clock.advance(15 * MINUTE)
    expect((await browser.refresh()).status).toBe(401)
  })

  test('is counted from the latest use, even if that use did not rotate the token', async () => {
    await setIdle(2)
    const browser = openBrowser()
    await browser.signIn()
    for (const seconds of [55, 115, 115]) {
      service.clock.advance(seconds * SECOND)
      expect((await browser.refresh()).status).toBe(200)
    }
    await renewAdmin(service, clinic)
    await setIdle(undefined)
  })

  test('is a tenant setting, which is shown in the profile and applies to existing sessions', async () => {
    const browser = openBrowser()
    await browser.signIn()
    expect((await setIdle(3)).status).toBe(200)
    const { body } = await browser.refresh()
    expect(body.idle_minutes).toBe(3)
    const me = await service.call('GET', '/api/users/me', { token: body.access_token })
    expect(me.body.idle_minutes).toBe(3)
    service.clock.advance(3 * MINUTE)
    expect((await browser.refresh()).status).toBe(401)
    await renewAdmin(service, clinic)
    await setIdle(undefined)
  })

  test.each([1, 61, 2.5, '5', true])('cannot be set to %j minutes', async (minutes) => {
    expect((await setIdle(minutes as number)).status).toBe(422)
  })
})

describe('an access token of a console session', () => {
  test('expires after five minutes', async () => {
    const { body } = await openBrowser().signIn()
    service.clock.advance(5 * MINUTE - SECOND)
    expect(await standing(service, body.access_token)).toBe(200)
    service.clock.advance(SECOND)
    expect(await standing(service, body.access_token)).toBe(401)
  })
})

describe('signing out of the console', () => {
  test('ends the session immediately, clears the cookie and is journaled with the user', async () => {
    const browser = openBrowser()
    const { body } = await browser.signIn()
    expect((await browser.signOut()).status).toBe(204)
    expect(browser.cookie()).toBeUndefined()
    expect(await standing(service, body.access_token)).toBe(401)
    const [entry] = await service.database.sql(
      `select user_id, user_email from journal where action = 'auth.logout' and resource_id = $1`,
      [jtiOf(body.access_token)],
    )
    expect(entry).toEqual({ user_id: person.id, user_email: person.email })
  })

  test('without a cookie changes nothing', async () => {
    expect((await openBrowser().signOut()).status).toBe(204)
  })
})

describe("a request of another site with the console's cookie", () => {
  const doors = [
    ['POST', SESSION, { email: 'a@b.test', password: 'x' }],
    ['POST', `${SESSION}/refresh`, {}],
    ['DELETE', SESSION, {}],
  ] as const

  /** Sends a request with exactly these headers. */
  const send = (method: 'POST' | 'DELETE', url: string, body: object, headers: object) =>
    service.app.server.inject({ method, url, payload: body, headers: { ...headers } })

  test.each(doors)('is refused: %s %s', async (method, path, body) => {
    const headers = [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'cross-site', origin: 'http://wardkeep.test' },
      { origin: 'http://elsewhere.test' },
      { origin: 'http://evilwardkeep.test' },
      { origin: 'https://wardkeep.test' },
      { origin: 'http://wardkeep.test:8081' },
      { origin: 'null' },
    ]
    for (const sent of headers) {
      const answer = await send(method, path, body, sent)
      expect([sent, answer.statusCode, answer.json().code]).toEqual([sent, 403, 'cross_site'])
    }
  })

  test.each(['http://wardkeep.test', 'http://north.wardkeep.test'])(
    'is detected by the Origin header of an old browser at %s',
    async (origin) => {
      const answer = await send('POST', `${SESSION}/refresh`, {}, { origin })
      expect(answer.statusCode).toBe(204)
    },
  )

  test('cannot come from an HTML form, because the body has to be JSON', async () => {
    const headers = { 'content-type': 'text/plain' }
    for (const [method, path] of doors)
      expect((await service.call(method, path, { headers, payload: '{}' })).status).toBe(422)
    expect((await service.call('DELETE', SESSION)).status).toBe(422)
  })
})

describe('the console cookie without an access token', () => {
  const bearer = BUILT.filter(({ auth }) => auth === 'bearer')

  test('is refused by every operation that requires a token', async () => {
    const browser = openBrowser()
    await browser.signIn()
    expect(bearer.length).toBeGreaterThan(60)
    for (const row of bearer) {
      const path = row.path.replaceAll(/\{\w+\}/g, '1')
      const answer = await browser.call(row.method, path, row.method === 'GET' ? {} : { body: {} })
      expect([nameOf(row), answer.status]).toEqual([nameOf(row), 401])
    }
    expect((await browser.refresh()).status).toBe(200)
  })
})

describe('the sign-in page', () => {
  const welcome = (host: string) =>
    service.call('GET', '/api/console/welcome', { headers: { host } })

  test('receives the name of the tenant that belongs to the host name', async () => {
    expect((await welcome('north.wardkeep.test')).body.tenant).toEqual({
      name: 'Clinic north',
      subdomain: 'north',
    })
    expect((await welcome('wardkeep.test')).body).toMatchObject({ tenant: null, demo: null })
    expect((await welcome('nowhere.wardkeep.test')).body.tenant).toBeNull()
  })
})
