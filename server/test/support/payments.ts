/** Builds notifications as cardnet writes and signs them. Uses the secret from the test configuration. */
import { createHmac, randomUUID } from 'node:crypto'

export const CARDNET_SECRET = 'whsec_of the tests alone'

export interface CardnetNotice {
  id: string
  type: string
  created: number
  data: { object: Record<string, unknown> }
}

/** Builds a notification as cardnet writes it. */
export function cardnetNotice(
  type: string,
  object: Record<string, unknown> = {},
  more: Partial<CardnetNotice> = {},
): CardnetNotice {
  return {
    id: `evt_${randomUUID()}`,
    type: `payment.${type}`,
    created: 1_790_000_000,
    data: { object: { id: 'pay_1', status: type, amount: 1000, currency: 'EUR', ...object } },
    ...more,
  }
}

/** Returns the signature header of a body for a secret. @param t seconds since the epoch */
export function cardnetSignature(
  body: string | Buffer,
  t = Math.floor(Date.now() / 1000),
  secret = CARDNET_SECRET,
): string {
  const v1 = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')
  return `t=${t},v1=${v1}`
}
