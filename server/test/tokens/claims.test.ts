/** Tokens with a valid signature but invalid claims. Such tokens give no access, even if a signing key was stolen. */
import { generateKeyPairSync } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { jtiOf, newColleague, standing } from '../sessions/users.ts'
import { type Clinic, makeClinic, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { type Json, partsOf, serviceKey, signed } from './forge.ts'

const MINUTE = 60
let service: Service
let north: Clinic
let south: Clinic
let header: Json
let claims: Json
let sign: (header: unknown, claims: unknown) => string

beforeAll(async () => {
  service = await openService()
  const root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
  ;({ header, claims } = partsOf(north.people.nurse.token))
  const key = await serviceKey(service)
  sign = (head, body) => signed(head, body, key)
})

const seconds = () => Math.floor(service.clock.now() / 1000)
const withClaims = (changed: Json) => standing(service, sign(header, { ...claims, ...changed }))

describe('the claims of an access token', () => {
  test('are as documented, and valid for fifteen minutes', () => {
    expect(header).toEqual({ alg: 'EdDSA', typ: 'at+jwt', kid: expect.any(String) })
    expect(claims).toEqual({
      iss: 'http://wardkeep.test',
      aud: 'http://wardkeep.test',
      sub: String(north.people.nurse.id),
      tid: north.id,
      role: 'nurse',
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      iat: expect.any(Number),
      exp: Number(claims.iat) + 15 * MINUTE,
    })
  })

  test('are accepted if the test signs them again unchanged', async () => {
    expect(await withClaims({})).toBe(200)
  })

  test.each(['iss', 'aud', 'sub', 'tid', 'jti', 'exp'])('are refused without %s', async (name) => {
    const { [name]: _, ...rest } = claims
    expect(await standing(service, sign(header, rest))).toBe(401)
  })

  const wrong: [string, () => Json][] = [
    ['an expiry a second ago', () => ({ exp: seconds() - 1 })],
    ['an expiry decades ago', () => ({ exp: 1 })],
    ['a start in the future', () => ({ nbf: seconds() + 2 * MINUTE })],
    ['an expiry that is text', () => ({ exp: String(seconds() + MINUTE) })],
    ['an expiry that is null', () => ({ exp: null })],
    ['another issuer', () => ({ iss: 'http://elsewhere.test' })],
    ['an issuer that only begins like the service', () => ({ iss: 'http://wardkeep.test.evil' })],
    ['another audience', () => ({ aud: 'http://elsewhere.test' })],
    ['a list of other audiences', () => ({ aud: ['http://elsewhere.test', 'ours'] })],
    ['a list of issuers', () => ({ iss: ['http://wardkeep.test'] })],
    ['another tenant', () => ({ tid: south.id })],
    ['a tenant that does not exist', () => ({ tid: 987_654 })],
    ['a tenant that is SQL', () => ({ tid: "1'; reset role; --" })],
    ['a tenant that is a fraction', () => ({ tid: 1.5 })],
    ['a tenant above 2^53 - 1', () => ({ tid: 1e300 })],
    ['an unknown session', () => ({ jti: '00000000-0000-4000-8000-000000000000' })],
    ['a malformed session ID', () => ({ jti: 'x' })],
    ['a session that is SQL', () => ({ jti: `' or true --` })],
    ['a session that is an object', () => ({ jti: { id: 1 } })],
    ["a colleague's session", () => ({ jti: jtiOf(north.people.admin.token) })],
    ['a session of another tenant', () => ({ jti: jtiOf(south.people.admin.token) })],
    ['another user', () => ({ sub: String(north.people.admin.id) })],
    ['a user that is not a number', () => ({ sub: 'root' })],
  ]
  test.each(wrong)('are refused with %s', async (_, change) => {
    expect(await withClaims(change())).toBe(401)
    expect(await standing(service, north.people.nurse.token)).toBe(200)
  })

  test('are refused with the session and tenant of another user', async () => {
    const jti = jtiOf(south.people.admin.token)
    expect(await withClaims({ tid: south.id, jti })).toBe(401)
  })

  test('cannot grant a higher role than the account has', async () => {
    const token = sign(header, { ...claims, role: 'superadmin' })
    expect((await service.call('GET', '/api/admin/users', { token })).status).toBe(403)
  })

  test('are refused once the session has ended, even if they have not expired', async () => {
    const person = await newColleague(service, north)
    const { claims: theirs } = partsOf(person.token)
    const token = sign(header, { ...theirs, exp: seconds() + 1e6 })
    expect(await standing(service, token)).toBe(200)
    await service.call('POST', '/api/auth/logout', { token: person.token })
    expect(await standing(service, token)).toBe(401)
  })
})

describe('the header of an access token', () => {
  test.each(['JWT', 'at+JWTx', 'logout+jwt', ''])('with typ "%s" is refused', async (typ) => {
    expect(await standing(service, sign({ ...header, typ }, claims))).toBe(401)
  })

  test('without typ is refused', async () => {
    const { typ: _, ...rest } = header
    expect(await standing(service, sign(rest, claims))).toBe(401)
  })

  test('without kid is refused', async () => {
    const { kid: _, ...rest } = header
    expect(await standing(service, sign(rest, claims))).toBe(401)
  })

  test.each([[['exp']], [['b64']], [['wardkeep']], ['exp'], [[]]])(
    'with the critical extension %j is refused',
    async (crit) => {
      expect(await standing(service, sign({ ...header, crit, b64: false }, claims))).toBe(401)
    },
  )

  test.each(['RS256', 'ES256', 'PS512', 'HS256'])('with alg %s is refused', async (alg) => {
    expect(await standing(service, sign({ ...header, alg }, claims))).toBe(401)
  })

  test('with a key on another curve is refused', async () => {
    const { privateKey } = generateKeyPairSync('ed448')
    expect(await standing(service, signed(header, claims, privateKey))).toBe(401)
  })
})

test('an access token expires after fifteen minutes', async () => {
  const later = await openService({ database: service.database })
  expect(await standing(later, north.people.nurse.token)).toBe(200)
  later.clock.advance(15 * MINUTE * 1000 - 5_000)
  const { admin } = south.people
  const { access_token: token } = await signIn(later, { ...admin, subdomain: south.subdomain })
  const people = { ...south.people, admin: { ...admin, token } }
  const fresh = (await newColleague(later, { ...south, people })).token
  expect(await standing(later, fresh)).toBe(200)
  later.clock.advance(10_000)
  expect(await standing(later, north.people.nurse.token)).toBe(401)
  expect(await standing(later, fresh)).toBe(200)
})
