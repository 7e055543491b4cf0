/** An access token has one valid spelling. Other encodings of the same bytes are refused and not cached. */
import { beforeAll, expect, test } from 'vitest'
import { standing } from '../sessions/users.ts'
import { superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { partsOf, serviceKey, signed } from './forge.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

let service: Service
let token: string

beforeAll(async () => {
  service = await openService()
  token = (await superadmin(service)).token
})

test.each([
  ['a blank in its signature', () => `${token.slice(0, -5)} ${token.slice(-5)}`],
  [
    'many blanks in its signature',
    () => `${token.slice(0, -5)}${' '.repeat(9_000)}${token.slice(-5)}`,
  ],
  ['padding', () => `${token}==`],
  [
    'characters of another base64 alphabet',
    () => token.replaceAll('-', '+').replaceAll('_', '/').concat('+'),
  ],
  ['a fourth part', () => `${token}.x`],
])('a token with %s is rejected', async (_, spell) => {
  expect(await standing(service, spell())).toBe(401)
  expect(await standing(service, token)).toBe(200)
})

test('only one of the sixteen final letters that encode the same signature bytes is accepted', async () => {
  const last = ALPHABET.indexOf(token.at(-1) ?? '')
  expect(last % 16).toBe(0)
  const answers = []
  for (let spare = 0; spare < 16; spare += 1)
    answers.push(await standing(service, `${token.slice(0, -1)}${ALPHABET[last + spare]}`))
  expect(answers).toEqual([200, ...Array(15).fill(401)])
})

test('a signed token that is longer than any real token is rejected', async () => {
  const { header, claims } = partsOf(token)
  const key = await serviceKey(service)
  expect(await standing(service, signed(header, claims, key))).toBe(200)
  const long = signed(header, { ...claims, note: 'x'.repeat(1_000) }, key)
  expect(await standing(service, long)).toBe(401)
})
