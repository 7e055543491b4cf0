/** Signing as Standard Webhooks demands it. */
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { keyOf, newSecret, signatureOf } from './signature.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const MESSAGE = ['msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}'] as const
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='

const key = (secret: string) => keyOf(secret) as Buffer
const base64 = (bytes: number) => Buffer.alloc(bytes, 0xfb).toString('base64')

describe('a signature', () => {
  test('is that of the reference vector', () => {
    expect(signatureOf([key(SECRET)], ...MESSAGE)).toBe(SIGNATURE)
  })

  test('is made for each key, in their order', () => {
    const other = key('a secret that is raw')
    const both = signatureOf([other, key(SECRET)], ...MESSAGE).split(' ')
    expect(both).toEqual([signatureOf([other], ...MESSAGE), SIGNATURE])
  })

  test.each([SECRET, 'a secret that is raw', 'ein Geheimnis für Empfänger'])(
    'with %j is the one that the reference library makes',
    (secret) => {
      const [id, seconds, body] = MESSAGE
      const webhook = secret.startsWith('whsec_')
        ? new Webhook(secret)
        : new Webhook(Buffer.from(secret), { format: 'raw' })
      expect(signatureOf([key(secret)], ...MESSAGE)).toBe(
        webhook.sign(id, new Date(seconds * 1000), body),
      )
    },
  )

  test('is over the bytes of the body, whatever the language', () => {
    const body = '{"name":"Zoë 漢字 👩‍⚕️"}'
    const [id, seconds] = MESSAGE
    expect(signatureOf([key(SECRET)], id, seconds, body)).toBe(
      new Webhook(SECRET).sign(id, new Date(seconds * 1000), body),
    )
  })
})

describe('a secret', () => {
  test('that is made has 32 random bytes', () => {
    const [one, other] = [newSecret(), newSecret()]
    expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(key(one)).toHaveLength(32)
    expect(one).not.toBe(other)
  })

  test.each([24, 25, 32, 63, 64])('of %i bytes in base64 is a key', (bytes) => {
    expect(keyOf(`whsec_${base64(bytes)}`)).toHaveLength(bytes)
    expect(keyOf(`whsec_${base64(bytes).replace(/=+$/, '')}`)).toHaveLength(bytes)
  })

  test.each([
    ['too few bytes', `whsec_${base64(23)}`],
    ['too many bytes', `whsec_${base64(65)}`],
    ['no base64', `whsec_${'!'.repeat(40)}`],
    ['base64 for URLs', `whsec_${base64(32).replaceAll('+', '-').replaceAll('/', '_')}`],
    ['a stray character', `whsec_${base64(32)}x`],
    ['nothing', 'whsec_'],
  ])('with %s behind the prefix is none', (_what, secret) => {
    expect(keyOf(secret)).toBeUndefined()
  })

  test('of any other form is used byte for byte', () => {
    expect(keyOf('sixteen letters!')).toEqual(Buffer.from('sixteen letters!'))
    expect(keyOf('WHSEC_sixteen letters')).toEqual(Buffer.from('WHSEC_sixteen letters'))
  })
})
