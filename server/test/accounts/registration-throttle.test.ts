/** Throttles registration by IP address, so that nobody can use it to test a list of addresses. */
import { beforeAll, expect, test } from 'vitest'
import { atOnce, tally } from '../races/race.ts'
import { mailsTo } from '../support/accounts.ts'
import { superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { form, newAddress, newTenant, PROXIED, post, register } from './people.ts'

let service: Service
let subdomain: string
let taken: string

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  const { token } = await superadmin(service)
  subdomain = (await newTenant(service, token, { registration: 'open' })).subdomain
  taken = (await register(service, subdomain)).email
})

const send = (from: string, overrides: object = {}) =>
  post(service, '/api/auth/register', { from, body: form(subdomain, overrides) })

/** Sends requests one after another until one is throttled. */
async function untilSlowed(make: () => Promise<Answer>, most: number): Promise<Answer[]> {
  const answers: Answer[] = []
  while (answers.length < most && answers.at(-1)?.status !== 429) answers.push(await make())
  return answers
}

test('a caller who registers addresses of existing accounts is throttled, and other callers are not', async () => {
  const from = newAddress()
  const answers = await untilSlowed(() => send(from, { email: taken }), 20)
  const last = answers.at(-1)
  expect(last?.status).toBe(429)
  expect(Number(last?.headers['retry-after'])).toBeGreaterThan(0)
  expect(tally(answers)).toEqual({ 409: answers.length - 1, 429: 1 })
  expect(answers.length).toBeLessThanOrEqual(8)
  // While the caller is throttled, the response is the same whether or not the account exists.
  expect((await send(from)).status).toBe(429)
  expect((await send(newAddress())).status).toBe(201)
  service.clock.advance(Number(last?.headers['retry-after']) * 1000)
  expect((await send(from)).status).toBe(201)
})

test('all IPv6 networks of one customer share a throttle counter', async () => {
  let network = 0
  const next = () => {
    network += 1
    return send(`2001:db8:7:${network.toString(16)}::1`, { email: taken })
  }
  const answers = await untilSlowed(next, 20)
  expect(answers.at(-1)?.status).toBe(429)
  expect((await send('2001:db8:8::1')).status).toBe(201)
})

test('a mailbox cannot be flooded by registering its address in many tenants', async () => {
  const { token } = await superadmin(service)
  const email = 'victim@mailbox.test'
  for (let times = 0; times < 5; times += 1) {
    const tenant = await newTenant(service, token, { registration: 'open' })
    const from = newAddress()
    // Writes the address in all spellings that a stranger might try.
    const body = form(tenant.subdomain, { email: times % 2 ? email : 'Victim@mailbox.test' })
    expect((await post(service, '/api/auth/register', { from, body })).status).toBe(201)
  }
  await service.idle('jobs')
  const mails = await Promise.all([email, 'Victim@mailbox.test'].map((to) => mailsTo(service, to)))
  expect(mails.flat()).toHaveLength(3)
})

test('a clinic can register its whole staff in one day, but an automated client is throttled', async () => {
  const from = newAddress()
  const answers = await untilSlowed(() => send(from), 60)
  expect(tally(answers)).toEqual({ 201: answers.length - 1, 429: 1 })
  expect(answers.length).toBeGreaterThan(20)
  expect(Number(answers.at(-1)?.headers['retry-after'])).toBeGreaterThan(0)
})

test('concurrent registrations are all counted', async () => {
  const from = newAddress()
  const meeting = tally(await atOnce(() => send(from, { email: taken }), 64))
  expect(meeting[409]).toBeLessThanOrEqual(8)
  expect((meeting[409] ?? 0) + (meeting[429] ?? 0)).toBe(64)
  const other = newAddress()
  const making = tally(await atOnce(() => send(other), 64))
  expect(making[201]).toBeLessThanOrEqual(32)
  expect((making[201] ?? 0) + (making[429] ?? 0)).toBe(64)
})

test('one of sixteen concurrent registrations of one address gets the account, and one mail is sent', async () => {
  const body = form(subdomain)
  const answers = await atOnce((index) =>
    post(service, '/api/auth/register', {
      body: { ...body, email: index % 2 ? body.email : body.email.replace('self', 'Self') },
    }),
  )
  expect(tally(answers)).toEqual({ 201: 1, 409: 15 })
  const made = answers.find(({ status }) => status === 201)?.body.email
  await service.idle('jobs')
  expect(await mailsTo(service, made)).toHaveLength(1)
})
