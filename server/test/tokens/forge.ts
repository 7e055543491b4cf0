/** Creates access tokens as an attacker would, or as the service does with its own key. */
import {
  createHmac,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto'
import { openSealer } from '../../src/platform/crypto/index.ts'
import { ROOT_KEY, type Service } from '../support/service.ts'

export type Json = Record<string, unknown>

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

const decode = (part: string | undefined): Json =>
  JSON.parse(Buffer.from(part ?? '', 'base64url').toString())

/** Returns the header and claims of a token. */
export function partsOf(token: string): { header: Json; claims: Json } {
  const [header, claims] = token.split('.')
  return { header: decode(header), claims: decode(claims) }
}

/** Creates a JWT with an Ed25519 signature by `key`. */
export function signed(header: unknown, claims: unknown, key: KeyObject): string {
  const text = `${encode(header)}.${encode(claims)}`
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
}

/** Creates a JWT with an HMAC, to attack a verifier that would accept `secret` as a shared key. */
export function hmacSigned(header: Json, claims: Json, secret: string | Buffer): string {
  const digest = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }[String(header.alg)] ?? ''
  const text = `${encode(header)}.${encode(claims)}`
  return `${text}.${createHmac(digest, secret).update(text).digest('base64url')}`
}

/** Creates a JWT whose third part is `signature`, which may be empty. */
export function unsigned(header: Json, claims: Json, signature = ''): string {
  return `${encode(header)}.${encode(claims)}.${signature}`
}

/** Creates a key pair for the attacker, of the same type as the service's. */
export const ownPair = () => generateKeyPairSync('ed25519')

/**
 * Returns a signing key of the service, decrypted with the root key. By default the current key, or the key with the ID
 * `kid`.
 */
export async function serviceKey(
  service: Service,
  kid = service.app.features.auth.keys.signer().kid,
): Promise<KeyObject> {
  const [row] = await service.database.sql<{ sealed_private_key: Buffer }>(
    'select sealed_private_key from signing_keys where kid = $1',
    [kid],
  )
  if (!row) throw new Error(`there is no key ${kid}`)
  const place = { table: 'signing_keys', column: 'sealed_private_key', row: kid }
  return createPrivateKey(openSealer(ROOT_KEY).open(row.sealed_private_key, place).toString())
}
