/**
 * Whose backups are: an age identity of the service's own, derived from the root key, and a key that
 * proves that a file was made here. What is written opens by this identity and by the operator's.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { bech32 } from '@scure/base'
import { Decrypter, identityToRecipient } from 'age-encryption'
import type { DeriveKey } from '../../../platform/crypto/index.ts'

export interface Keeper {
  /** `AGE-SECRET-KEY-1…`: for the safe, and in no log. */
  readonly identity: string
  /** `age1…` of the service and of those in BACKUP_AGE_RECIPIENT. */
  readonly recipients: readonly string[]
  /** Knows the identity. */
  readonly opener: Decrypter
  /** The MAC of what a backup says of itself, in hex. */
  sign(bytes: Uint8Array): string
  isSigned(bytes: Uint8Array, mac: string): boolean
}

/** @param more recipients of the operator's, beside the service's own */
export async function openKeeper(deriveKey: DeriveKey, more: readonly string[]): Promise<Keeper> {
  // X25519 takes any 32 bytes as a secret key (RFC 7748 §5).
  const secret = deriveKey('backup identity')
  const identity = bech32.encodeFromBytes('AGE-SECRET-KEY-', secret).toUpperCase()
  const own = await identityToRecipient(identity)
  const opener = new Decrypter()
  opener.addIdentity(identity)
  const macKey = deriveKey('backup manifest')
  const mac = (bytes: Uint8Array) => createHmac('sha256', macKey).update(bytes).digest()
  return {
    identity,
    recipients: [own, ...more],
    opener,
    sign: (bytes) => mac(bytes).toString('hex'),
    isSigned(bytes, given) {
      const proof = Buffer.from(given, 'hex')
      const expected = mac(bytes)
      return proof.length === expected.length && timingSafeEqual(proof, expected)
    },
  }
}
