/** The response time does not reveal whether an account exists. */
import { beforeAll, describe, expect, test } from 'vitest'
import { superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { compare } from './compare-durations.ts'
import { newTenant, PROXIED, post, register } from './people.ts'

/** The number of calls. It is enough to detect a difference of one third, as the tests of the comparison show. */
const CALLS = 80
const WARM_UP = 10

let service: Service
let tenant: { id: number; subdomain: string }

beforeAll(async () => {
  // Uses the real cost of a hash, so that a sign-in that skips hashing for unknown accounts is detected.
  const config = { ...PROXIED, PASSWORD_MEMORY_KIB: 19_456, PASSWORD_PASSES: 2 }
  service = await openService({ background: ['jobs'], config })
  tenant = await newTenant(service, (await superadmin(service)).token, { registration: 'open' })
  const { id } = await register(service, tenant.subdomain)
  await service.database.sql(
    `insert into users (tenant_id, email, full_name, role, password_hash)
     select tenant_id, 'known-' || n || '@timing.test', full_name, role, password_hash
     from users, generate_series(1, $2) n where id = $1`,
    [id, CALLS + WARM_UP],
  )
  await service.idle('jobs')
})

/** Measures calls for known and unknown accounts in equal numbers and in random order. Uses each account once. */
async function measure(call: (email: string) => Promise<Answer>, ...statuses: number[]) {
  const durations: Record<'known' | 'nobody', number[]> = { known: [], nobody: [] }
  for (let n = 1; n <= CALLS + WARM_UP; n += 1) {
    const pair =
      Math.random() < 0.5 ? (['known', 'nobody'] as const) : (['nobody', 'known'] as const)
    for (const kind of pair) {
      // Waits for background work after each response, so that it does not slow down the next call.
      await service.idle('jobs')
      const start = performance.now()
      const answer = await call(`${kind}-${n}@timing.test`)
      const ms = performance.now() - start
      expect(statuses).toContain(answer.status)
      if (n > WARM_UP) durations[kind].push(ms)
    }
  }
  expect([durations.known.length, durations.nobody.length]).toEqual([CALLS, CALLS])
  return compare(durations.known, durations.nobody)
}

describe.each(['request-reset', 'resend-verification'])('the response to %s', (path) => {
  test('takes the same time whether or not the address has an account', {
    timeout: 120_000,
  }, async () => {
    const ask = (email: string) =>
      post(service, `/api/auth/${path}`, { body: { email, subdomain: tenant.subdomain } })
    // Users with confirmed addresses get a reset link, and the others get a confirmation link.
    await service.database.sql(
      `update users set email_verified_at = ${path === 'request-reset' ? 'now()' : 'null'}
       where email like 'known-%'`,
    )
    const comparison = await measure(ask, 202)
    expect(comparison, JSON.stringify(comparison)).toMatchObject({ differ: false })
    await service.idle('jobs')
    // Checks that links were sent only for known accounts. Otherwise the response times would have no difference to
    // hide.
    const purpose = path === 'request-reset' ? 'reset_password' : 'verify_email'
    const sent = await service.database.sql(
      `select count(*)::int as count from account_tokens where purpose = $1 and email like 'known-%'`,
      [purpose],
    )
    expect(sent).toEqual([{ count: CALLS + WARM_UP }])
  })
})

test('sign-in takes the same time for a wrong password and for an unknown account', {
  timeout: 120_000,
}, async () => {
  const { subdomain } = tenant
  const guess = (email: string) =>
    post(service, '/api/auth/login', { body: { email, password: 'a-wrong-Guess-1', subdomain } })
  const comparison = await measure(guess, 401)
  expect(comparison, JSON.stringify(comparison)).toMatchObject({ differ: false })
})

test('sign-in without a tenant takes the same time for a wrong password and for an unknown account', {
  timeout: 240_000,
}, async () => {
  const guess = (email: string) =>
    post(service, '/api/auth/login', { body: { email, password: 'a-wrong-Guess-1' } })
  const comparison = await measure(guess, 401)
  expect(comparison, JSON.stringify(comparison)).toMatchObject({ differ: false })
})

test('a throttled address waits equally long whether or not it has an account', {
  timeout: 240_000,
}, async () => {
  const { subdomain, id } = tenant
  const from = '192.0.2.77'
  await service.database.sql(
    `insert into sessions (id, tenant_id, user_id, signed_in_from, created_at, last_used_at, idle_seconds,
       expires_at, absolute_expires_at)
     select gen_random_uuid(), tenant_id, id, $2, now(), now(), 86400, now() + '1 day', now() + '1 day'
     from users where tenant_id = $1`,
    [id, from],
  )
  const guess = (email: string) =>
    post(service, '/api/auth/login', {
      body: { email, password: 'a-wrong-Guess-2', subdomain },
      from,
    })
  for (let made = 0; made < 20; made += 1) await guess(`made-up-${made}@timing.test`)
  await service.database.sql(
    `update throttles set free_at = now() + interval '1 hour' where failures >= 20`,
  )
  const comparison = await measure(guess, 429)
  expect(comparison, JSON.stringify(comparison)).toMatchObject({ differ: false })
  const counted = await service.database.sql<{ count: number }>(
    'select count(*)::int as count from throttles where failures = 1',
  )
  expect(counted[0]?.count).toBeGreaterThanOrEqual(2 * (CALLS + WARM_UP))
})

describe('the statistical comparison of response times', () => {
  /** Generates durations typical of a busy machine: most are similar, and some are far longer. */
  const busy = (mean: number) =>
    Array.from(
      { length: CALLS },
      () => mean * (0.8 + 0.4 * Math.random()) * (Math.random() < 0.1 ? 5 : 1),
    )

  test('detects a difference of one third despite noise', () => {
    expect(compare(busy(3), busy(4)).differ).toBe(true)
    expect(compare(busy(4), busy(3)).differ).toBe(true)
  })

  test('detects no difference between two series from the same distribution', () => {
    for (let round = 0; round < 50; round += 1) expect(compare(busy(3), busy(3)).differ).toBe(false)
    const flat = Array.from({ length: CALLS }, () => 1)
    expect(compare(flat, flat)).toMatchObject({ z: 0, differ: false })
  })

  test('detects extra work of the service for one of two kinds of calls', {
    timeout: 120_000,
  }, async () => {
    // Sends a password, because validation rejects a request without one before the service checks any password.
    const guess = (email: string) => {
      const password = email.startsWith('known') ? 'a-wrong-Guess-1' : ''
      const body = { email, password, subdomain: tenant.subdomain }
      return post(service, '/api/auth/login', { body })
    }
    const comparison = await measure(guess, 401, 422)
    expect(comparison.differ).toBe(true)
  })
})
