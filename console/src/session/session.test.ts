import { beforeEach, expect, test } from 'vitest'
import { ApiError } from '../api/problem.ts'
import type { TabMessage } from './channel.ts'
import { createSession, type Session } from './session.ts'

const CREDENTIALS = { email: 'ada@north.example', password: 'a-Fine-Secret-3' }

let now: number
let calls: string[]
let published: TabMessage[]
let reloads: number
let receive: (message: TabMessage) => void
let answers: Record<string, () => Response | ApiError>
let session: Session
let pause: () => Promise<void>
/** Resolves when this tab is allowed to change the session. */
let turn: Promise<void>

const answer = (token: string, user_id = 7) =>
  Response.json({ access_token: token, expires_in: 300, tenant_id: 1, user_id, idle_minutes: 15 })

const refusal = (status: number) => new ApiError({ status, detail: `HTTP ${status}` })

beforeEach(() => {
  now = Date.parse('2026-11-21T08:30:00Z')
  calls = []
  published = []
  reloads = 0
  pause = () => Promise.resolve()
  turn = Promise.resolve()
  answers = { POST: () => answer('first'), refresh: () => answer('second'), DELETE: noContent }
  session = createSession({
    async sendJson(method, path) {
      const name = path.endsWith('/refresh') ? 'refresh' : method
      calls.push(name)
      const reply = answers[name]?.() ?? refusal(404)
      if (reply instanceof ApiError) throw reply
      return reply
    },
    channel: {
      publish: (message) => published.push(message),
      listen: (listener) => {
        receive = listener
      },
    },
    takeTurn: async (work) => {
      await turn
      return work()
    },
    now: () => now,
    pause: () => pause(),
    reload: () => {
      reloads++
    },
  })
})

const textOfToken = async () => (await session.accessToken())?.text

const noContent = () => new Response(null, { status: 204 })

test('the console session has no user without a cookie', async () => {
  answers.refresh = noContent
  expect(await session.ensure()).toBeUndefined()
  expect(session.state()).toMatchObject({ status: 'signed-out', reason: 'none' })
})

test('the console session does not renew the token after a sign-out that happened while the renewal waited', async () => {
  await session.signIn(CREDENTIALS)
  const { promise, resolve } = Promise.withResolvers<void>()
  turn = promise
  const renewal = session.renew()
  session.signOut('idle')
  resolve()
  await renewal
  expect(session.state()).toMatchObject({ status: 'signed-out', reason: 'idle' })
  expect(calls).not.toContain('refresh')
})

test.each([429, 503, 0])(
  'the console session stays signed in after the response %i to a renewal',
  async (status) => {
    await session.signIn(CREDENTIALS)
    answers.refresh = () => refusal(status)
    await expect(session.renew()).rejects.toMatchObject({ status })
    expect(session.state().status).toBe('signed-in')
    now += 250_000
    expect(await textOfToken()).toBe('first')
    now += 60_000
    await expect(session.accessToken()).rejects.toMatchObject({ status })
  },
)

test('the console session renews the token a minute before it expires, once for all waiting requests', async () => {
  await session.signIn(CREDENTIALS)
  now += 239_000
  expect(await textOfToken()).toBe('first')
  now += 1000
  const tokens = await Promise.all([textOfToken(), textOfToken()])
  expect(tokens).toEqual(['second', 'second'])
  expect(calls).toEqual(['POST', 'refresh'])
})

test('the console session replaces a refused token only once', async () => {
  await session.signIn(CREDENTIALS)
  const refused = { text: 'first', owner: '1:7' }
  expect(await session.replaceToken(refused)).toMatchObject({ text: 'second' })
  expect(await session.replaceToken(refused)).toMatchObject({ text: 'second' })
  expect(calls).toEqual(['POST', 'refresh'])
})

test('the console session ends when the service refuses the renewal', async () => {
  await session.signIn(CREDENTIALS)
  answers.refresh = () => refusal(401)
  await session.renew()
  expect(session.state()).toMatchObject({ status: 'signed-out', reason: 'ended' })
  expect(await session.accessToken()).toBeUndefined()
})

test('the console session removes the user immediately at sign-out, and retries until the service has ended the session', async () => {
  await session.signIn(CREDENTIALS)
  let attempts = 0
  answers.DELETE = () => (++attempts < 3 ? refusal(503) : noContent())
  session.signOut('idle')
  expect(session.state()).toMatchObject({ status: 'signed-out', reason: 'idle' })
  expect(published.at(-1)).toEqual({ type: 'locked' })
  await expect.poll(() => attempts).toBe(3)
})

test('the console session keeps trying to end the former session after a failed sign-in', async () => {
  await session.signIn(CREDENTIALS)
  let isAway = true
  answers.DELETE = () => (isAway ? refusal(500) : noContent())
  answers.POST = () => refusal(401)
  let deletions = 0
  pause = async () => {
    await new Promise((resolve) => setTimeout(resolve))
    if (calls.filter((call) => call === 'POST').length > 1) isAway = false
    deletions = calls.filter((call) => call === 'DELETE').length
  }
  session.signOut('chosen')
  await expect(session.signIn(CREDENTIALS)).rejects.toMatchObject({ status: 401 })
  await expect.poll(() => isAway).toBe(false)
  await expect.poll(() => calls.filter((call) => call === 'DELETE').length).toBe(deletions + 1)
})

test('the console session stops trying to end the former session when somebody signs in', async () => {
  await session.signIn(CREDENTIALS)
  answers.DELETE = () => refusal(503)
  pause = () => new Promise((resolve) => setTimeout(resolve))
  session.signOut('chosen')
  await session.signIn(CREDENTIALS)
  const ended = calls.length
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(calls.length).toBe(ended)
})

test('the console session stops trying to end the session in the service when the service permanently refuses', async () => {
  await session.signIn(CREDENTIALS)
  answers.DELETE = () => refusal(403)
  session.signOut('chosen')
  await session.signIn(CREDENTIALS)
  expect(calls).toEqual(['POST', 'DELETE', 'POST'])
})

test('the console session never sends a request of one user with the token of another', async () => {
  await session.signIn(CREDENTIALS)
  const refused = await session.accessToken()
  if (!refused) throw new Error('no token')
  expect(await session.replaceToken({ ...refused, text: 'older', owner: '1:8' })).toBeUndefined()
  now += 250_000
  answers.refresh = () => refusal(401)
  await expect(session.accessToken()).rejects.toMatchObject({ status: 401 })
})

test('the console session ignores a renewal that arrives after the sign-out', async () => {
  await session.signIn(CREDENTIALS)
  const renewal = session.renew()
  session.signOut('chosen')
  await renewal
  expect(session.state().status).toBe('signed-out')
})

test('the console session signs out when another tab signs out, and does not end the session again', async () => {
  await session.signIn(CREDENTIALS)
  receive({ type: 'signed-out' })
  expect(session.state()).toMatchObject({ status: 'signed-out', reason: 'elsewhere' })
  expect(calls).toEqual(['POST'])
})

test('the console session signs in when the same person signs in again in another tab', async () => {
  await session.signIn(CREDENTIALS)
  receive({ type: 'locked' })
  receive({ type: 'signed-in', tenant_id: 1, user_id: 7 })
  await expect.poll(() => session.state().status).toBe('signed-in')
  expect(reloads).toBe(0)
})

test('the console session signs out and reloads the page when another person signs in in another tab', async () => {
  await session.signIn(CREDENTIALS)
  receive({ type: 'signed-in', tenant_id: 1, user_id: 8 })
  expect(session.state().status).toBe('signed-out')
  expect(reloads).toBe(1)
})

test('the console session signs out and reloads the page when another person signs in after a sign-out', async () => {
  await session.signIn(CREDENTIALS)
  session.signOut('chosen')
  answers.POST = () => answer('other', 8)
  await session.signIn(CREDENTIALS)
  expect(session.state().status).toBe('signed-out')
  expect(reloads).toBe(1)
})

test('the console session signs out and reloads the page when the cookie belongs to another person', async () => {
  await session.signIn(CREDENTIALS)
  answers.refresh = () => answer('third', 8)
  await session.renew()
  expect(session.state().status).toBe('signed-out')
  expect(await session.accessToken()).toBeUndefined()
  expect(reloads).toBe(1)
})

test('the console session signs in again after a change of the password', async () => {
  expect(await session.signInAgain('another-Secret-4')).toBe(false)
  await session.signIn(CREDENTIALS)
  answers.POST = () => answer('after')
  expect(await session.signInAgain('another-Secret-4')).toBe(true)
  expect(await textOfToken()).toBe('after')
  let attempts = 0
  answers.POST = () => (++attempts < 3 ? refusal(429) : answer('later'))
  expect(await session.signInAgain('another-Secret-4')).toBe(true)
  expect(attempts).toBe(3)
  answers.POST = () => refusal(401)
  expect(await session.signInAgain('another-Secret-4')).toBe(false)
})
