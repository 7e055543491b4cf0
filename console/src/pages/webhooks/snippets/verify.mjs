import { createHmac, timingSafeEqual } from 'node:crypto'

// body: the raw bytes of the request, before any parsing
export function isGenuine(secret, headers, body) {
  const id = headers['webhook-id']
  const time = headers['webhook-timestamp']
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300) return false
  const key = secret.startsWith('whsec_')
    ? Buffer.from(secret.slice(6), 'base64')
    : Buffer.from(secret)
  const mac = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest()
  return headers['webhook-signature'].split(' ').some((signature) => {
    const given = Buffer.from(signature.replace('v1,', ''), 'base64')
    return given.length === mac.length && timingSafeEqual(given, mac)
  })
}
