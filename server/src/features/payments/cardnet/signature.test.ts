/** Tests which cardnet signatures are valid. Compares the results with Stripe's library, which uses the same format. */
import { createHmac } from 'node:crypto'
import Stripe from 'stripe'
import { describe, expect, test } from 'vitest'
import { fc } from '../../../../test/support/properties.ts'
import { isSigned } from './signature.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OTHER = 'another secret of 2026'
const NOW = Date.parse('2026-11-22T01:00:00.000Z')
const T = NOW / 1000
const BODY = Buffer.from('{"id":"evt_1","type":"payment.succeeded"}')

const hmac = (t: number | string, body: Uint8Array = BODY, secret = SECRET) =>
  createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')
const GOOD = `t=${T},v1=${hmac(T)}`
const isGood = (header: string, secrets = [SECRET], at = NOW, body = BODY) =>
  isSigned(header, body, secrets, at)

describe('a valid signature', () => {
  test('may be created with any of several secrets, as during a secret rotation', () => {
    expect(isGood(GOOD, [SECRET])).toBe(true)
    expect(isGood(GOOD, [OTHER, SECRET])).toBe(true)
    expect(isGood(`t=${T},v1=${hmac(T, BODY, OTHER)}`, [SECRET, OTHER])).toBe(true)
  })

  test.each([
    ['v1 comes before t', `v1=${hmac(T)},t=${T}`],
    ['wrong signatures surround it', `v1=${'0'.repeat(64)},t=${T},v1=${hmac(T)},v1=${hmac(T + 1)}`],
    ['there are unknown keys', `v0=abc,t=${T},scheme,v1=${hmac(T)},x=y=z,,v2=`],
    [
      'other signatures are malformed',
      `t=${T},v1=abc,v1=,v1=${hmac(T).toUpperCase()},v1=${hmac(T)}`,
    ],
  ])('is accepted if %s', (_what, header) => {
    expect(isGood(header)).toBe(true)
  })

  test.each([-300, -299, 0, 299, 300])(
    'is accepted if its time differs from the clock by %i seconds',
    (seconds) => {
      expect(isGood(GOOD, [SECRET], NOW + seconds * 1000)).toBe(true)
    },
  )

  test('is accepted for any bytes in the body', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const body = Buffer.from(bytes)
        expect(isGood(`t=${T},v1=${hmac(T, body)}`, [SECRET], NOW, body)).toBe(true)
      }),
    )
  })
})

describe('an invalid signature', () => {
  test.each([
    ['is empty', ''],
    ['has no t', `v1=${hmac(T)}`],
    ['has an empty t', `t=,v1=${hmac('')}`],
    ['has t twice', `t=${T},t=${T},v1=${hmac(T)}`],
    ['has a second, different t', `t=${T},t=1,v1=${hmac(T)}`],
    ['has a t with a sign', `t=+${T},v1=${hmac(`+${T}`)}`],
    ['has a t with decimals', `t=${T}.0,v1=${hmac(`${T}.0`)}`],
    ['has a t in hex', `t=0x${T.toString(16)},v1=${hmac(`0x${T.toString(16)}`)}`],
    ['has a t in other digits', `t=١٧,v1=${hmac('١٧')}`],
    ['has no v1', `t=${T}`],
    ['has an empty v1', `t=${T},v1=`],
    ['has a v1 in upper case', `t=${T},v1=${hmac(T).toUpperCase()}`],
    ['has half a v1', `t=${T},v1=${hmac(T).slice(0, 32)}`],
    ['has the v1 under another key', `t=${T},v0=${hmac(T)},V1=${hmac(T)}`],
    ['was made for another time', `t=${T},v1=${hmac(T - 1)}`],
    ['was sent twice', `${GOOD}, ${GOOD}`],
    ['was sent twice, once empty', `${GOOD}, `],
    ['contains blanks', `t=${T}, v1=${hmac(T)}`],
    ['is over 4 KiB', `${GOOD},x=${'y'.repeat(4096)}`],
  ])('is rejected if it %s', (_what, header) => {
    expect(isGood(header)).toBe(false)
  })

  test.each([-301, 301, 86_400, -86_400])(
    'is rejected if its time differs from the clock by %i seconds',
    (seconds) => {
      expect(isGood(GOOD, [SECRET], NOW + seconds * 1000)).toBe(false)
    },
  )

  test('is rejected with an extra byte in the body, a wrong secret or no secret', () => {
    expect(isGood(GOOD, [SECRET], NOW, Buffer.concat([BODY, Buffer.from('\n')]))).toBe(false)
    expect(isGood(GOOD, [OTHER])).toBe(false)
    expect(isGood(GOOD, [])).toBe(false)
    expect(isGood(GOOD, [SECRET.slice('whsec_'.length)])).toBe(false)
  })

  test('is rejected if it is arbitrary text', () => {
    fc.assert(fc.property(fc.string(), (header) => !isGood(header)))
  })
})

describe("the signature check, compared with Stripe's library,", () => {
  const payload = BODY.toString()

  test("accepts a signature made by Stripe's library", () => {
    const header = Stripe.webhooks.generateTestHeaderString({
      payload,
      secret: SECRET,
      timestamp: T,
    })
    expect(isGood(header)).toBe(true)
  })

  test("accepts the same signature as Stripe's library", () => {
    const t = Math.floor(Date.now() / 1000)
    const header = `t=${t},v1=${hmac(t)}`
    expect(isGood(header, [SECRET], Date.now())).toBe(true)
    expect(Stripe.webhooks.constructEvent(payload, header, SECRET)).toMatchObject({ id: 'evt_1' })
  })

  test("rejects a signature with a future time, which Stripe's library accepts", () => {
    const t = Math.floor(Date.now() / 1000) + 3_600
    const header = `t=${t},v1=${hmac(t)}`
    expect(Stripe.webhooks.constructEvent(payload, header, SECRET)).toMatchObject({ id: 'evt_1' })
    expect(isGood(header, [SECRET], Date.now())).toBe(false)
  })
})
