/** Who was known somewhere before a restore is known there after it: strangers keep nobody out. */
import { expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { attempt, guessUntilRefused, WRONG } from '../throttles/people.ts'
import { openRestoring } from './restoring.ts'
import { make } from './support.ts'

const HOME = '198.51.100.1'
const STRANGER = '203.0.113.1'

test.each([
  ['one clinic', (id: number) => ({ tenant_id: id })],
  ['everything', () => ({})],
])('where %s is restored, sessions end and stay', async (_what, wanted) => {
  const at = await openRestoring({ config: { TRUSTED_PROXIES: 1 } })
  const { email, id } = at.north.people.admin
  const enter = (from: string) => attempt(at.service, { email, from })
  const entered = await enter(HOME)
  expect(entered.status).toBe(200)
  const backup_id = await make(at.service, at.root)
  const guess = () => attempt(at.service, { email, password: WRONG, from: STRANGER })
  await guessUntilRefused(guess)
  await at.restore(at.root, { backup_id, ...wanted(at.north.id) })
  const refresh = { refresh_token: entered.body.refresh_token }
  const refreshed = await until('the clinic to be open again', async () => {
    const answer = await at.service.call('POST', '/api/auth/refresh', { body: refresh })
    return answer.status === 503 ? undefined : answer
  })
  expect(refreshed.status).toBe(401)
  const [{ open }] = await at.sql(
    `select count(*) filter (where ended_at is null)::int as open from sessions
     where user_id = $1 and end_reason is distinct from 'restored'`,
    [id],
  )
  expect(open).toBe(0)
  // A restore of everything forgets the guesses of before.
  await guessUntilRefused(guess)
  expect((await enter(HOME)).status).toBe(200)
  expect((await enter('192.0.2.1')).status).toBe(429)
})
