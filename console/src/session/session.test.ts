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

const answer = (token: string, user_id = 7) =>
  Response.json({ access_token: token, expires_in: 300, tenant_id: 1, user_id, idle_minutes: 15 })

const refusal = (status: number) => new ApiError({ status, detail: `HTTP ${status}` })

beforeEach(() => {
  now = Date.parse('2026-11-21T08:30:00Z')
  calls = []
  published = []
  reloads = 0
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
    takeTurn: (work) => work(),
    now: () => now,
    pause: () => Promise.resolve(),
    reload: () => {
      reloads++
    },
  })
})

const noContent = () => new Response(null, { status: 204 })

test('has nobody when there is no cookie', async () => {
  answers.refresh = noContent
  expect(await session.ensure()).toBeUndefined()
  expect(session.state()).toMatchObject({ status: 'signed-out', reason: 'none' })
})

test.each([429, 503, 0])('does not read %i as signed out', async (status) => {
  await session.signIn(CREDENTIALS)
  answers.refresh = () => refusal(status)
  await expect(session.renew()).rejects.toMatchObject({ status })
  expect(session.state().status).toBe('signed-in')
  now += 250_000
  expect(await session.accessToken()).toBe('first')
  now += 60_000
  await expect(session.accessToken()).rejects.toMatchObject({ status })
})

test('renews a minute before the token expires, once for all requests', async () => {
  await session.signIn(CREDENTIALS)
  now += 239_000
  expect(await session.accessToken()).toBe('first')
  now += 1000
  const tokens = await Promise.all([session.accessToken(), session.accessToken()])
  expect(tokens).toEqual(['second', 'second'])
  expect(calls).toEqual(['POST', 'refresh'])
})

test('replaces a refused token once', async () => {
  await session.signIn(CREDENTIALS)
  expect(await session.replaceToken('first')).toBe('second')
  expect(await session.replaceToken('first')).toBe('second')
  expect(calls).toEqual(['POST', 'refresh'])
})

test('ends when the service refuses the renewal', async () => {
  await session.signIn(CREDENTIALS)
  answers.refresh = () => refusal(401)
  await session.renew()
  expect(session.state()).toMatchObject({ status: 'signed-out', reason: 'ended' })
  expect(await session.accessToken()).toBeUndefined()
})

test('forgets the person at once and goes on until the service has ended the session', async () => {
  await session.signIn(CREDENTIALS)
  let attempts = 0
  answers.DELETE = () => (++attempts < 3 ? refusal(503) : noContent())
  session.signOut('idle')
  expect(session.state()).toMatchObject({ status: 'signed-out', reason: 'idle' })
  expect(published.at(-1)).toEqual({ type: 'locked' })
  await expect.poll(() => attempts).toBe(3)
})

test('ignores a renewal that arrives after the sign-out', async () => {
  await session.signIn(CREDENTIALS)
  const renewal = session.renew()
  session.signOut('chosen')
  await renewal
  expect(session.state().status).toBe('signed-out')
})

test('follows a sign-out in another tab without ending the session again', async () => {
  await session.signIn(CREDENTIALS)
  receive({ type: 'signed-out' })
  expect(session.state()).toMatchObject({ status: 'signed-out', reason: 'elsewhere' })
  expect(calls).toEqual(['POST'])
})

test('follows a sign-in of the same person in another tab', async () => {
  await session.signIn(CREDENTIALS)
  receive({ type: 'locked' })
  receive({ type: 'signed-in', tenant_id: 1, user_id: 7 })
  await expect.poll(() => session.state().status).toBe('signed-in')
  expect(reloads).toBe(0)
})

test('drops everything when another person signs in', async () => {
  await session.signIn(CREDENTIALS)
  receive({ type: 'signed-in', tenant_id: 1, user_id: 8 })
  expect(session.state().status).toBe('signed-out')
  expect(reloads).toBe(1)
})

test('drops everything when the cookie belongs to another person', async () => {
  await session.signIn(CREDENTIALS)
  answers.refresh = () => answer('third', 8)
  await session.renew()
  expect(session.state().status).toBe('signed-out')
  expect(await session.accessToken()).toBeUndefined()
  expect(reloads).toBe(1)
})

test('signs in again after a change of the password', async () => {
  expect(await session.signInAgain('another-Secret-4')).toBe(false)
  await session.signIn(CREDENTIALS)
  answers.POST = () => answer('after')
  expect(await session.signInAgain('another-Secret-4')).toBe(true)
  expect(await session.accessToken()).toBe('after')
  answers.POST = () => refusal(401)
  expect(await session.signInAgain('another-Secret-4')).toBe(false)
})
