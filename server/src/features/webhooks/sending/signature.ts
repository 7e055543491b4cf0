/** Signs messages according to Standard Webhooks: `v1,` and the HMAC-SHA256 in base64, once per secret. */
import { createHmac, type KeyObject, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const NEW_KEY_BYTES = 32
const MIN_KEY_BYTES = 24
const MAX_KEY_BYTES = 64

/** Generates a secret for a webhook that was registered without one. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(NEW_KEY_BYTES).toString('base64')
}

/**
 * Returns the signing key of a secret: the decoded bytes after `whsec_`, or all bytes of a secret without this prefix.
 * @returns undefined if `whsec_` is not followed by 24 to 64 bytes in base64
 */
export function signingKeyOf(secret: string): Buffer | undefined {
  if (!secret.startsWith(PREFIX)) return Buffer.from(secret)
  const text = secret.slice(PREFIX.length)
  const key = Buffer.from(text, 'base64')
  const isBase64 = key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
  return isBase64 && key.length >= MIN_KEY_BYTES && key.length <= MAX_KEY_BYTES ? key : undefined
}

/**
 * Returns the value of the header `webhook-signature`.
 * @param timestamp seconds since the Unix epoch, an integer
 * @param body the body exactly as it is sent
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
