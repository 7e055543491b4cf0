/** Password hashing at sign-in: the same work for all accounts, limited concurrency, and the upgrade of old hashes. */
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { tenantAsker } from '../../src/features/auth/sign-in/asked-tenant.ts'
import { signInOperations } from '../../src/features/auth/sign-in/sign-in.routes.ts'
import { signInService } from '../../src/features/auth/sign-in/sign-in.service.ts'
import { usersService } from '../../src/features/users/users.service.ts'
import { Problem } from '../../src/lib/problems.ts'
import { systemTime } from '../../src/lib/time.ts'
import { openPasswords, type Passwords } from '../../src/platform/crypto/index.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import { openThrottle, type RateLimiter } from '../../src/platform/throttle/index.ts'
import {
  type Clinic,
  makeClinic,
  PASSWORD,
  type Person,
  signIn,
  superadmin,
} from '../support/clinics.ts'
import { serveOperations } from '../support/operations-server.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { gate } from './scopes.ts'
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

/** Returns the service's sign-in with other `passwords`. */
function signInWith(passwords: Passwords, limit: RateLimiter = async () => 0) {
  const { db, features } = service.app
  return signInService({
    db,
    clock: service.clock,
    passwords,
    sessions: features.auth.sessions,
    secondFactor: features.auth.secondFactor,
    throttle: openThrottle(db, service.clock, silentLog),
    limit,
    askTenant: tenantAsker('wardkeep.test', false),
    log: silentLog,
    needsVerifiedEmail: false,
  })
}

const origin = { ip: '127.0.0.1', user_agent: null, request_id: crypto.randomUUID() }

describe('the number of password hashes for a sign-in', () => {
  test('is the same with and without an account: three if the request names no tenant', async () => {
    const real = await openPasswords(COST, 2, systemTime)
    const verified: (string | null)[] = []
    const signs = signInWith({
      ...real,
      verify(stored, password, party) {
        verified.push(stored)
        return real.verify(stored, password, party)
      },
    })
    const blocked = await newColleague(service, clinic)
    const { token } = clinic.people.admin
    await service.call('POST', `/api/admin/users/${blocked.id}/block`, { token })
    const nurse = clinic.people.nurse.email
    const found = '$argon2id'
    const tries = [
      [{ email: nurse, password: PASSWORD, subdomain: 'north' }, [found]],
      [{ email: nurse, password: 'wrong-Horse-1', subdomain: 'north' }, [found]],
      [{ email: blocked.email, password: PASSWORD, subdomain: 'north' }, [found]],
      [{ email: 'nobody@north.test', password: PASSWORD, subdomain: 'north' }, [null]],
      [{ email: nurse, password: PASSWORD, subdomain: 'nowhere' }, [null]],
      [{ email: nurse, password: PASSWORD }, [found, null, null]],
      [{ email: nurse, password: 'wrong-Horse-1' }, [found, null, null]],
      [{ email: 'nobody@north.test', password: PASSWORD }, [null, null, null]],
    ] as const
    for (const [credentials, expected] of tries) {
      verified.length = 0
      await signs.login(credentials, '', origin).catch((error: Error) => error)
      expect(verified.map((stored) => stored?.slice(0, 9) ?? null)).toEqual(expected)
    }
  })
})

describe('a sign-in of a user who is known on the network of the caller', () => {
  beforeEach(() => service.database.sql('delete from throttles'))

  const login = (
    signs: ReturnType<typeof signInWith>,
    email: string,
    password = 'wrong-Horse-1',
  ): Promise<string> =>
    signs.login({ email, password, subdomain: 'north' }, '', origin).then(
      () => 'in',
      ({ code }) => code,
    )

  /** Creates passwords that record the queue and the hash of each check. Each check waits until `passing` resolves. */
  async function watched(passing: (stored: string | null) => Promise<unknown>) {
    const real = await openPasswords(COST, 2, systemTime)
    const verified: string[] = []
    const passwords: Passwords = {
      ...real,
      async verify(stored, password, party) {
        verified.push(`${party} ${stored?.slice(0, 9) ?? 'nobody'}`)
        await passing(stored)
        return real.verify(stored, password, party)
      },
    }
    return { passwords, verified }
  }

  /** Starts eight sign-ins with wrong passwords. Their checks wait until `open` is called. */
  async function fullLine(passing: (stored: string | null) => Promise<unknown>) {
    const held = gate()
    const { passwords, verified } = await watched((stored) =>
      stored === null ? held.pass : passing(stored),
    )
    const signs = signInWith(passwords)
    const others = Array.from({ length: 8 }, (_, n) => login(signs, `nobody-${n}@north.test`))
    await until('the line to be full', () => verified.length === 8 || undefined)
    return { signs, verified, others, open: held.open }
  }
  const OF_NOBODY = '127.0.0.1 nobody'
  const OF_KNOWN = '127.0.0.1/known $argon2id'

  test('with a wrong password needs only one hash while the network is throttled', async () => {
    const { passwords, verified } = await watched(async () => undefined)
    const signs = signInWith(passwords, async (key) => (key === origin.ip ? 1000 : 0))
    for (const email of [clinic.people.nurse.email, 'nobody@north.test'])
      expect(await login(signs, email)).toBe('too_many_requests')
    expect(verified).toEqual(['127.0.0.1 $argon2id', OF_NOBODY])
  })

  test('with a wrong password needs two hashes, one in the full queue and one outside the queue', async () => {
    const own = gate()
    const { signs, verified, others, open } = await fullLine(() => own.pass)
    const known = login(signs, clinic.people.nurse.email)
    await until('the own one', () => verified.length === 9 || undefined)
    open()
    await until('the one of the line', () => verified.length === 10 || undefined)
    own.open()
    expect(await Promise.all([...others, known])).toEqual(Array(9).fill('invalid_credentials'))
    expect(verified).toEqual([...Array(8).fill(OF_NOBODY), OF_KNOWN, OF_NOBODY])
  })

  test('waits in the full queue after a second wrong password, like any other sign-in', async () => {
    const turns: (() => void)[] = []
    const { passwords, verified } = await watched((stored) =>
      stored === null
        ? new Promise<void>((resolve) => void turns.push(resolve))
        : Promise.resolve(),
    )
    const signs = signInWith(passwords)
    const begun = (count: number) =>
      until(`${count} to be checked`, () => turns.length === count || undefined)
    const others = Array.from({ length: 8 }, (_, n) => login(signs, `nobody-${n}@north.test`))
    await begun(8)
    const guesses = [1, 2].map(() => login(signs, clinic.people.nurse.email))
    await until('both to be checked beside the line', () => verified.length === 10 || undefined)
    const last = login(signs, 'nobody-9@north.test')
    const first = Promise.race([
      ...guesses.map((one) => one.then(() => 'known')),
      last.then(() => 'last'),
    ])
    turns[0]?.()
    await begun(9)
    turns[1]?.()
    await begun(10)
    // The next check belongs to another user, because the known user's place in the queue is still taken.
    turns[9]?.()
    expect(await first).toBe('last')
    for (const turn of turns) turn()
    await begun(11)
    turns[10]?.()
    expect(await Promise.all([...others, ...guesses, last])).toEqual(
      Array(11).fill('invalid_credentials'),
    )
  })

  test('with the correct password succeeds without waiting for the queue', async () => {
    const { signs, verified, others, open } = await fullLine(async () => undefined)
    expect(await login(signs, clinic.people.nurse.email, PASSWORD)).toBe('in')
    open()
    expect(await Promise.all(others)).toEqual(Array(8).fill('invalid_credentials'))
    expect(verified).toEqual([...Array(8).fill(OF_NOBODY), OF_KNOWN])
  })
})

describe('a request of an administrator', () => {
  test('needs no hash if the database alone can refuse it', async () => {
    const hashed: string[] = []
    const real = await openPasswords(COST, 2, systemTime)
    const users = usersService({
      db: service.app.db,
      passwords: {
        ...real,
        hash(password, party) {
          hashed.push(party)
          return real.hash(password, party)
        },
      },
      throttle: openThrottle(service.app.db, service.clock, silentLog),
      endSessions: async () => undefined,
      passwordSet: async () => undefined,
      accountMails: {
        countInvitation: async () => undefined,
        takeVerification: async () => false,
        welcome: async () => undefined,
        invite: async () => undefined,
        addressChanged: async () => undefined,
        notifyApplicant: async () => undefined,
      },
      leaves: async () => undefined,
      requireSignedIn: async () => undefined,
    } as Parameters<typeof usersService>[0])
    const { id: user_id, tenant_id, email } = clinic.people.admin
    const [session] = await service.database.sql(
      'select id from sessions where user_id = $1 and ended_at is null',
      [user_id],
    )
    const session_id = session?.id
    const caller = { user_id, tenant_id, email, role: 'admin', session_id, origin } as never
    const other = await makeClinic(service, root, 'east')
    const user = { password: PASSWORD, full_name: 'New', role: 'nurse' } as const
    const refusals = [
      users.resetPassword(caller, 999_999_999, { password: PASSWORD }),
      users.resetPassword(caller, other.people.nurse.id, { password: PASSWORD }),
      users.create(caller, { ...user, email: clinic.people.nurse.email.toUpperCase() }),
    ]
    const codes = refusals.map((refused) => refused.catch((error) => error.code))
    expect(await Promise.all(codes)).toEqual(['not_found', 'not_found', 'email_taken'])
    expect(hashed).toEqual([])
    await users.create(caller, { ...user, email: 'new-one@north.test' })
    expect(hashed).toEqual([`assigns:tenant:${tenant_id}/user:${user_id}`])
  })
})

describe('sign-ins beyond the capacity for hashing', () => {
  test('get 503 with Retry-After, and the other sign-ins continue as usual', async () => {
    const passwords = await openPasswords({ ...COST, memoryCost: 16_384 }, 1, systemTime, {
      waitingOfOne: 0,
    })
    const { auth } = service.app.features
    const server = await serveOperations(signInOperations(signInWith(passwords)), {
      authenticate: auth.sessions.authenticate,
      requireConfirmed: auth.requireConfirmed,
    })
    const login = () =>
      server.inject({
        method: 'POST',
        url: '/api/auth/login',
        payload: { email: clinic.people.nurse.email, password: PASSWORD, subdomain: 'north' },
      })
    const state = { busy: true }
    const occupy = async () => {
      while (state.busy) await passwords.hash('somebody else', 'elsewhere')
    }
    const occupied = occupy()
    const refused = await login()
    state.busy = false
    await occupied
    expect(refused.statusCode).toBe(503)
    expect(refused.json()).toMatchObject({ code: 'overloaded', detail: expect.any(String) })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await login()).statusCode).toBe(200)
  })
})

describe('a stored password hash', () => {
  const hashOf = async (id: number) => {
    const [row] = await service.database.sql<{ password_hash: string }>(
      'select password_hash from users where id = $1',
      [id],
    )
    return row?.password_hash ?? ''
  }
  const costing = (PASSWORD_MEMORY_KIB: number, PASSWORD_PASSES: number) =>
    openService({ database: service.database, config: { PASSWORD_MEMORY_KIB, PASSWORD_PASSES } })

  test('is upgraded at the first sign-in after the cost was increased, for the same password', async () => {
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

  test('is upgraded at concurrent sign-ins on two nodes, which both succeed', async () => {
    const person = await newColleague(service, clinic)
    const at = { email: person.email, password: PASSWORD, subdomain: 'north' }
    const nodes = await Promise.all([costing(256, 2), costing(256, 2)])
    const holder = ownerClient(service.database.address)
    onTestFinished(() => holder.end())
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from users where id = $1 for update', [person.id])
    const signingIn = Promise.all(nodes.map((node) => signIn(node, at)))
    await until('both have checked the old one', async () => {
      const waiting = await service.database.sql(
        `select from pg_stat_activity where datname = current_database()
           and wait_event_type = 'Lock' and query like '%last_login_at%'`,
      )
      return waiting.length === 2 || undefined
    })
    await holder.query('commit')
    await signingIn
    expect(await hashOf(person.id)).toContain('$m=256,t=2,p=1$')
    const failed = await service.database.sql(
      `select from journal where action = 'auth.login_failed' and resource_id = $1`,
      [String(person.id)],
    )
    expect(failed).toEqual([])
  })

  test('still lets the user in if it is outdated and cannot be upgraded', async () => {
    const real = await openPasswords(COST, 2, systemTime)
    const signs = signInWith({
      ...real,
      isOutdated: () => true,
      hash: () => Promise.reject(new Problem('overloaded', { retryAfter: 2 })),
    })
    const person = await newColleague(service, clinic)
    const before = await hashOf(person.id)
    const credentials = { email: person.email, password: PASSWORD, subdomain: 'north' }
    expect((await signs.login(credentials, '', origin)).user_id).toBe(person.id)
    expect(await hashOf(person.id)).toBe(before)
  })

  test('is not upgraded by a wrong password', async () => {
    const person = await newColleague(service, clinic)
    const before = await hashOf(person.id)
    const dearer = await costing(256, 2)
    const body = { email: person.email, password: 'wrong-Horse-1', subdomain: 'north' }
    await dearer.call('POST', '/api/auth/login', { body })
    expect(await hashOf(person.id)).toBe(before)
  })

  test('is not replaced if it has a higher cost than required', async () => {
    const dearer = await costing(256, 2)
    const person = await newColleague(dearer, clinic)
    const before = await hashOf(person.id)
    await signIn(service, { email: person.email, password: PASSWORD, subdomain: 'north' })
    expect(await hashOf(person.id)).toBe(before)
  })
})
