/** Whose signature counts, judged by stripe's own library as well: both formats are the same. */
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

describe('a signature holds', () => {
  test('by any secret of the list, for the time of a rotation', () => {
    expect(isGood(GOOD, [SECRET])).toBe(true)
    expect(isGood(GOOD, [OTHER, SECRET])).toBe(true)
    expect(isGood(`t=${T},v1=${hmac(T, BODY, OTHER)}`, [SECRET, OTHER])).toBe(true)
  })

  test.each([
    ['the order is another', `v1=${hmac(T)},t=${T}`],
    ['wrong ones stand around it', `v1=${'0'.repeat(64)},t=${T},v1=${hmac(T)},v1=${hmac(T + 1)}`],
    ['there are keys that it does not know', `v0=abc,t=${T},scheme,v1=${hmac(T)},x=y=z,,v2=`],
    ['there is rubbish beside it', `t=${T},v1=abc,v1=,v1=${hmac(T).toUpperCase()},v1=${hmac(T)}`],
  ])('where %s', (_what, header) => {
    expect(isGood(header)).toBe(true)
  })

  test.each([-300, -299, 0, 299, 300])('%i seconds from the clock', (seconds) => {
    expect(isGood(GOOD, [SECRET], NOW + seconds * 1000)).toBe(true)
  })

  test('over bytes, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const body = Buffer.from(bytes)
        expect(isGood(`t=${T},v1=${hmac(T, body)}`, [SECRET], NOW, body)).toBe(true)
      }),
    )
  })
})

describe('a signature does not hold', () => {
  test.each([
    ['is empty', ''],
    ['has no t', `v1=${hmac(T)}`],
    ['has an empty t', `t=,v1=${hmac('')}`],
    ['has t twice', `t=${T},t=${T},v1=${hmac(T)}`],
    ['has another t beside', `t=${T},t=1,v1=${hmac(T)}`],
    ['has a t with a sign', `t=+${T},v1=${hmac(`+${T}`)}`],
    ['has a t with decimals', `t=${T}.0,v1=${hmac(`${T}.0`)}`],
    ['has a t in hex', `t=0x${T.toString(16)},v1=${hmac(`0x${T.toString(16)}`)}`],
    ['has a t in other digits', `t=١٧,v1=${hmac('١٧')}`],
    ['has no v1', `t=${T}`],
    ['has an empty v1', `t=${T},v1=`],
    ['has a v1 in upper case', `t=${T},v1=${hmac(T).toUpperCase()}`],
    ['has half a v1', `t=${T},v1=${hmac(T).slice(0, 32)}`],
    ['has the v1 under another key', `t=${T},v0=${hmac(T)},V1=${hmac(T)}`],
    ['is of another time', `t=${T},v1=${hmac(T - 1)}`],
    ['came twice', `${GOOD}, ${GOOD}`],
    ['came twice, the other empty', `${GOOD}, `],
    ['has blanks in it', `t=${T}, v1=${hmac(T)}`],
    ['is over 4 KiB', `${GOOD},x=${'y'.repeat(4096)}`],
  ])('that %s', (_what, header) => {
    expect(isGood(header)).toBe(false)
  })

  test.each([-301, 301, 86_400, -86_400])('%i seconds from the clock', (seconds) => {
    expect(isGood(GOOD, [SECRET], NOW + seconds * 1000)).toBe(false)
  })

  test('over another byte, or by another secret, or by none', () => {
    expect(isGood(GOOD, [SECRET], NOW, Buffer.concat([BODY, Buffer.from('\n')]))).toBe(false)
    expect(isGood(GOOD, [OTHER])).toBe(false)
    expect(isGood(GOOD, [])).toBe(false)
    expect(isGood(GOOD, [SECRET.slice('whsec_'.length)])).toBe(false)
  })

  test('whatever else is sent in its place', () => {
    fc.assert(fc.property(fc.string(), (header) => !isGood(header)))
  })
})

describe("beside stripe's library", () => {
  const payload = BODY.toString()

  test('what that signs is accepted here', () => {
    const header = Stripe.webhooks.generateTestHeaderString({
      payload,
      secret: SECRET,
      timestamp: T,
    })
    expect(isGood(header)).toBe(true)
  })

  test('what is signed here is accepted there', () => {
    const t = Math.floor(Date.now() / 1000)
    const header = `t=${t},v1=${hmac(t)}`
    expect(isGood(header, [SECRET], Date.now())).toBe(true)
    expect(Stripe.webhooks.constructEvent(payload, header, SECRET)).toMatchObject({ id: 'evt_1' })
  })

  test('a time to come is accepted there, and not here', () => {
    const t = Math.floor(Date.now() / 1000) + 3_600
    const header = `t=${t},v1=${hmac(t)}`
    expect(Stripe.webhooks.constructEvent(payload, header, SECRET)).toMatchObject({ id: 'evt_1' })
    expect(isGood(header, [SECRET], Date.now())).toBe(false)
  })
})
