/** Tests signatures against the reference library of Standard Webhooks. */
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { newWebhookSecret, signatureOf, signingKeyOf } from './signature.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const MESSAGE = ['msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}'] as const
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='

const key = (secret: string) => signingKeyOf(secret) as Buffer
const base64 = (bytes: number) => Buffer.alloc(bytes, 0xfb).toString('base64')

describe('the signature of a webhook message', () => {
  test('matches the reference test vector', () => {
    expect(signatureOf([key(SECRET)], ...MESSAGE)).toBe(SIGNATURE)
  })

  test('contains one signature per key, in the order of the keys', () => {
    const other = key('a secret that is raw')
    const both = signatureOf([other, key(SECRET)], ...MESSAGE).split(' ')
    expect(both).toEqual([signatureOf([other], ...MESSAGE), SIGNATURE])
  })

  test.each([SECRET, 'a secret that is raw', 'ein Geheimnis für Empfänger'])(
    'matches the reference library with the secret %j',
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

  test('covers the UTF-8 bytes of a body with non-ASCII text', () => {
    const body = '{"name":"Zoë 漢字 👩‍⚕️"}'
    const [id, seconds] = MESSAGE
    expect(signatureOf([key(SECRET)], id, seconds, body)).toBe(
      new Webhook(SECRET).sign(id, new Date(seconds * 1000), body),
    )
  })
})

describe('a webhook secret', () => {
  test('has 32 random bytes if the service generates it', () => {
    const [one, other] = [newWebhookSecret(), newWebhookSecret()]
    expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(key(one)).toHaveLength(32)
    expect(one).not.toBe(other)
  })

  test.each([24, 25, 32, 63, 64])('may have %i bytes in base64 after the prefix', (bytes) => {
    expect(signingKeyOf(`whsec_${base64(bytes)}`)).toHaveLength(bytes)
    expect(signingKeyOf(`whsec_${base64(bytes).replace(/=+$/, '')}`)).toHaveLength(bytes)
  })

  test.each([
    ['too few bytes', `whsec_${base64(23)}`],
    ['too many bytes', `whsec_${base64(65)}`],
    ['no base64', `whsec_${'!'.repeat(40)}`],
    ['base64 for URLs', `whsec_${base64(32).replaceAll('+', '-').replaceAll('/', '_')}`],
    ['a stray character', `whsec_${base64(32)}x`],
    ['nothing', 'whsec_'],
  ])('is invalid with %s after the prefix', (_what, secret) => {
    expect(signingKeyOf(secret)).toBeUndefined()
  })

  test('is used byte for byte if it does not start with whsec_', () => {
    expect(signingKeyOf('sixteen letters!')).toEqual(Buffer.from('sixteen letters!'))
    expect(signingKeyOf('WHSEC_sixteen letters')).toEqual(Buffer.from('WHSEC_sixteen letters'))
  })
})
