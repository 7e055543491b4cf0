/** What sign-in does with password hashes: the same work for all, never too much at once, kept up to date. */
import { beforeAll, describe, expect, test } from 'vitest'
import { accountLocator, authOperations, signInService } from '../../src/features/auth/index.ts'
import { openPasswords, type Passwords } from '../../src/platform/crypto/index.ts'
import { addOperations, openServer, rateLimit } from '../../src/platform/http/index.ts'
import { openThrottle } from '../../src/platform/throttle/index.ts'
import {
  type Clinic,
  makeClinic,
  PASSWORD,
  type Person,
  signIn,
  superadmin,
} from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { newColleague } from './users.ts'

const COST = { memoryCost: 64, timeCost: 1, parallelism: 1 }
let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

/** The service's sign-in, but with `passwords` in place of its own. */
function signInWith(passwords: Passwords) {
  const { db, services } = service.app
  return signInService({
    db,
    clock: service.clock,
    passwords,
    sessions: services.auth.sessions,
    secondFactor: services.accounts.secondFactor,
    throttle: openThrottle(db, service.clock),
    locate: accountLocator(db, false),
    publicHost: 'wardkeep.test',
    needsVerifiedEmail: false,
  })
}

const origin = { ip: '127.0.0.1', user_agent: null, request_id: 'r' }

describe('each sign-in', () => {
  test('costs one hash, whether or not there is such an account', async () => {
    const real = await openPasswords(COST, 2, 10)
    const verified: (string | null)[] = []
    const signs = signInWith({
      ...real,
      verify(stored, password) {
        verified.push(stored)
        return real.verify(stored, password)
      },
    })
    const blocked = await newColleague(service, clinic)
    const { token } = clinic.people.admin
    await service.call('POST', `/api/admin/users/${blocked.id}/block`, { token })
    const tries = [
      { email: clinic.people.nurse.email, password: PASSWORD, subdomain: 'north' },
      { email: clinic.people.nurse.email, password: 'wrong-Horse-1', subdomain: 'north' },
      { email: blocked.email, password: PASSWORD, subdomain: 'north' },
      { email: 'nobody@north.test', password: PASSWORD, subdomain: 'north' },
      { email: 'nobody@north.test', password: PASSWORD },
      { email: clinic.people.nurse.email, password: PASSWORD, subdomain: 'nowhere' },
    ]
    for (const [index, credentials] of tries.entries()) {
      const outcome = await signs.login(credentials, '', origin).catch((error: Error) => error)
      expect(outcome instanceof Error).toBe(index > 0)
      expect(verified).toHaveLength(index + 1)
    }
    expect(verified.map((stored) => stored?.slice(0, 9) ?? null)).toEqual([
      '$argon2id',
      '$argon2id',
      '$argon2id',
      null,
      null,
      null,
    ])
  })
})

describe('more sign-ins than can be hashed', () => {
  test('are answered 503 with the time to wait, and the others as ever', async () => {
    const passwords = await openPasswords({ ...COST, memoryCost: 16_384 }, 1, 0)
    const { services } = service.app
    const server = await openServer({
      trustedProxies: 0,
      corsOrigins: [],
      log: silentLog,
      onAnswered: () => undefined,
    })
    addOperations(server, authOperations({ ...services.auth, signIn: signInWith(passwords) }), {
      authenticate: services.auth.sessions.authenticate,
      refused: async () => undefined,
      limits: { all: rateLimit('requests', 0), guesses: rateLimit('sign-in', 0) },
      log: silentLog,
    })
    const login = () =>
      server.inject({
        method: 'POST',
        url: '/api/auth/login',
        payload: { email: clinic.people.nurse.email, password: PASSWORD, subdomain: 'north' },
      })
    const state = { busy: true }
    const occupy = async () => {
      while (state.busy) await passwords.hash('somebody else')
    }
    const occupied = occupy()
    const refused = await login()
    state.busy = false
    await occupied
    expect(refused.statusCode).toBe(503)
    expect(refused.json()).toMatchObject({ code: 'overloaded', detail: expect.any(String) })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await login()).statusCode).toBe(200)
    await server.close()
  })
})

describe('a hash', () => {
  const hashOf = async (id: number) => {
    const [row] = await service.database.sql<{ password_hash: string }>(
      'select password_hash from users where id = $1',
      [id],
    )
    return row?.password_hash ?? ''
  }
  const costing = (PASSWORD_MEMORY_KIB: number, PASSWORD_PASSES: number) =>
    openService({ database: service.database, config: { PASSWORD_MEMORY_KIB, PASSWORD_PASSES } })

  test('is made again at the sign-in after the cost has risen, and the password stays', async () => {
    const person = await newColleague(service, clinic)
    const at = { email: person.email, password: PASSWORD, subdomain: 'north' }
    const cheap = await hashOf(person.id)
    expect(cheap).toContain('$m=64,t=1,p=1$')
    const dearer = await costing(256, 2)
    await signIn(dearer, at)
    const dear = await hashOf(person.id)
    expect(dear).toContain('$m=256,t=2,p=1$')
    await signIn(dearer, at)
    expect(await hashOf(person.id)).toBe(dear)
    const wrong = await dearer.call('POST', '/api/auth/login', { body: { ...at, password: 'no' } })
    expect(wrong.status).toBe(401)
  })

  test('is not made again by a wrong password', async () => {
    const person = await newColleague(service, clinic)
    const before = await hashOf(person.id)
    const dearer = await costing(256, 2)
    const body = { email: person.email, password: 'wrong-Horse-1', subdomain: 'north' }
    await dearer.call('POST', '/api/auth/login', { body })
    expect(await hashOf(person.id)).toBe(before)
  })

  test('that cost more than today asks for is kept', async () => {
    const dearer = await costing(256, 2)
    const person = await newColleague(dearer, clinic)
    const before = await hashOf(person.id)
    await signIn(service, { email: person.email, password: PASSWORD, subdomain: 'north' })
    expect(await hashOf(person.id)).toBe(before)
  })
})
