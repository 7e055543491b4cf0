/** Signs messages as Standard Webhooks does: HMAC-SHA256, `v1,` and base64, one for each secret. */
import { createHmac, type KeyObject, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const NEW_KEY_BYTES = 32
const MIN_KEY_BYTES = 24
const MAX_KEY_BYTES = 64

/** A secret for a webhook whose owner brought none. */
export function newSecret(): string {
  return PREFIX + randomBytes(NEW_KEY_BYTES).toString('base64')
}

/**
 * The key in a secret: the bytes behind `whsec_`, or those of any other text as they are.
 * @returns undefined when what follows `whsec_` is not 24…64 bytes in base64
 */
export function keyOf(secret: string): Buffer | undefined {
  if (!secret.startsWith(PREFIX)) return Buffer.from(secret)
  const text = secret.slice(PREFIX.length)
  const key = Buffer.from(text, 'base64')
  const isBase64 = key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
  return isBase64 && key.length >= MIN_KEY_BYTES && key.length <= MAX_KEY_BYTES ? key : undefined
}

/**
 * The value of `webhook-signature`.
 * @param timestamp seconds since the Unix epoch, an integer
 * @param body as it goes over the wire
 */
export function signatureOf(
  keys: readonly (Buffer | KeyObject)[],
  id: string,
  timestamp: number,
  body: string | Buffer,
): string {
  return keys
    .map((key) => {
      const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body)
      return `v1,${mac.digest('base64')}`
    })
    .join(' ')
}
