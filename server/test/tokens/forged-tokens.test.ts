/** Every forged access token gets 401, regardless of its claims. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { hmacSigned, type Json, ownPair, partsOf, serviceKey, signed, unsigned } from './forge.ts'

let service: Service
let clinic: Clinic
let real: { token: string; header: Json; claims: Json; publicJwk: Json }
const attacker = ownPair()

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
  const { token } = clinic.people.nurse
  const { body } = await service.call('GET', '/.well-known/jwks.json')
  real = { token, ...partsOf(token), publicJwk: body.keys[0] }
})

const me = (token: string) =>
  service.call('GET', '/api/users/me', { headers: { authorization: `Bearer ${token}` } })

async function expectRefused(token: string): Promise<void> {
  const answer = await me(token)
  expect(answer.status).toBe(401)
  expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
  expect(Object.keys(answer.body).sort()).toEqual(['code', 'detail'])
}

const raw = () => Buffer.from(String(real.publicJwk.x), 'base64url')
const pem = () =>
  `-----BEGIN PUBLIC KEY-----\n${Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw()]).toString('base64')}\n-----END PUBLIC KEY-----\n`
const own = (header: Json = {}, claims: Json = {}) =>
  signed({ ...real.header, ...header }, { ...real.claims, ...claims }, attacker.privateKey)

test("a token that the test creates with the service's key is accepted", async () => {
  const key = await serviceKey(service)
  expect((await me(signed(real.header, real.claims, key))).status).toBe(200)
})

describe('a token without a valid signature is refused with', () => {
  test.each(['none', 'None', 'NONE', 'nOnE', ''])('alg "%s"', async (alg) => {
    await expectRefused(unsigned({ ...real.header, alg }, real.claims))
    await expectRefused(unsigned({ ...real.header, alg }, real.claims, real.token.split('.')[2]))
  })

  test('no alg at all', async () => {
    const { alg: _, ...header } = real.header
    await expectRefused(unsigned(header, real.claims, real.token.split('.')[2]))
  })

  test.each(['HS256', 'HS384', 'HS512'])(
    '%s with the public key as the HMAC secret',
    async (alg) => {
      const secrets = [
        raw(),
        pem(),
        pem().trim(),
        String(real.publicJwk.x),
        JSON.stringify(real.publicJwk),
      ]
      for (const secret of [...secrets, ''])
        await expectRefused(hmacSigned({ ...real.header, alg }, real.claims, secret))
    },
  )

  test("a signature by the attacker's key and the key ID of the service's key", async () => {
    await expectRefused(own())
  })

  test("the service's signature for other claims", async () => {
    const [header, , signature] = real.token.split('.')
    const claims = Buffer.from(JSON.stringify({ ...real.claims, role: 'admin' }))
    await expectRefused(`${header}.${claims.toString('base64url')}.${signature}`)
  })

  test("the service's signature for another header", async () => {
    const [, claims, signature] = real.token.split('.')
    const header = Buffer.from(JSON.stringify({ ...real.header, cty: 'x' }))
    await expectRefused(`${header.toString('base64url')}.${claims}.${signature}`)
  })
})

describe('a token with its own verification key is refused if that key is', () => {
  const jwk = attacker.publicKey.export({ format: 'jwk' }) as Json

  test('embedded as jwk', async () => {
    await expectRefused(own({ jwk }))
    await expectRefused(own({ jwk: { ...jwk, kid: real.header.kid }, kid: real.header.kid }))
    const { kid: _, ...nameless } = real.header
    await expectRefused(signed({ ...nameless, jwk }, real.claims, attacker.privateKey))
  })

  test.each(['jku', 'x5u'])('at the address in %s', async (field) => {
    await expectRefused(own({ [field]: 'http://127.0.0.1:9/.well-known/jwks.json' }))
    await expectRefused(own({ [field]: 'file:///etc/passwd', kid: 'attacker' }))
  })

  test('in a certificate', async () => {
    await expectRefused(
      own({ x5c: [attacker.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')] }),
    )
  })
})

describe('a token with a misleading key ID is refused if the key ID', () => {
  const kids: [string, unknown][] = [
    ['unknown', 'no-such-key'],
    ['empty', ''],
    ['a path', '../../../../dev/null'],
    ['an absolute path', '/proc/self/environ'],
    ['SQL', `' or '1'='1`],
    ['SQL that ends the statement', `x'; drop table signing_keys; --`],
    ['text with a NUL', 'a\0b'],
    ['a lone surrogate', '\ud800'],
    ['very long', 'k'.repeat(100_000)],
    ['an array', ['a', 'b']],
    ['an object', { kid: 'a' }],
    ['a number', 1],
    ['null', null],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['toString', 'toString'],
  ]
  test.each(kids)('is %s', async (_, kid) => {
    await expectRefused(own({ kid } as Json))
    await expectRefused(signed({ ...real.header, kid }, real.claims, await serviceKey(service)))
    expect((await me(real.token)).status).toBe(200)
  })
})

describe('a token is refused if it is', () => {
  const damaged: [string, (token: string) => string][] = [
    ['empty', () => ''],
    ['two dots only', () => '..'],
    ['truncated', (token) => token.slice(0, -1)],
    ['without its signature', (token) => token.slice(0, token.lastIndexOf('.'))],
    ['without its claims', (token) => token.replace(/\..*\./, '..')],
    ['with a fourth part', (token) => `${token}.e30`],
    ['with a longer signature', (token) => `${token}AAAA`],
    ['with a space inside', (token) => token.replace('.', '. ')],
    ['with a tab inside', (token) => token.replace('.', '\t.')],
    ['present twice in the header', (token) => `${token} ${token}`],
    ['with the scheme written twice', (token) => `Bearer ${token}`],
    ['in upper case', (token) => token.toUpperCase()],
    ['in standard base64', (token) => `${Buffer.from(token).toString('base64')}`],
    ['with a header that is not JSON', (token) => token.replace(/^[^.]*/, 'AAAA')],
    ['with a header that is an array', (token) => token.replace(/^[^.]*/, 'W10')],
    ['with claims that are a number', (token) => token.replace(/\.[^.]*\./, '.MQ.')],
    ['very long', (token) => `${token}${'A'.repeat(300_000)}`],
    ['a million dots', () => '.'.repeat(1_000_000)],
  ]
  test.each(damaged)('%s', async (_, damage) => {
    await expectRefused(damage(real.token))
  })

  test('changed in any single bit of its signature', async () => {
    const [header, claims, text = ''] = real.token.split('.')
    for (let at = 0; at < 64; at += 7) {
      const signature = Buffer.from(text, 'base64url')
      signature[at] = (signature[at] ?? 0) ^ 1
      await expectRefused(`${header}.${claims}.${signature.toString('base64url')}`)
    }
  })
})

describe('a token in the wrong place is refused:', () => {
  test('a refresh token as an access token', async () => {
    await expectRefused(clinic.people.nurse.refresh)
  })

  test('an access token as a refresh token', async () => {
    const answer = await service.call('POST', '/api/auth/refresh', {
      body: { refresh_token: real.token.slice(0, 500) },
    })
    expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_refresh_token' } })
  })

  test.each(['Basic', 'Token', 'bearerx', ''])(
    'an access token with the scheme "%s"',
    async (scheme) => {
      const answer = await service.call('GET', '/api/users/me', {
        headers: { authorization: `${scheme} ${real.token}` },
      })
      expect(answer.status).toBe(401)
      expect(answer.headers['www-authenticate']).toBe('Bearer')
    },
  )

  test('the letter case of the scheme Bearer is ignored', async () => {
    for (const scheme of ['bearer', 'BEARER']) {
      const headers = { authorization: `${scheme} ${real.token}` }
      expect((await service.call('GET', '/api/users/me', { headers })).status).toBe(200)
    }
  })
})
