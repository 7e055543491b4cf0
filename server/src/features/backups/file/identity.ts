/**
 * Whose backups are: an age identity of the service's own, derived from the root key, and a key that
 * proves that a file was made here. What is written opens by this identity and by the operator's; what
 * was written under a root key before it opens for as long as that key is kept.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { bech32 } from '@scure/base'
import { Decrypter, identityToRecipient } from 'age-encryption'
import { type DeriveKey, fingerprintBy, keysFrom } from '../../../platform/crypto/index.ts'

export interface Keeper {
  /** Of the root key that it is derived from. */
  readonly fingerprint: string
  /** `AGE-SECRET-KEY-1…`: for the safe, and in no log. */
  readonly identity: string
  /** `age1…` of the service and of those in BACKUP_AGE_RECIPIENT. */
  readonly recipients: readonly string[]
  /** Knows the identity, and those of the root keys before. */
  readonly opener: Decrypter
  /** The MAC of what a backup says of itself, in hex. */
  sign(bytes: Uint8Array): string
  /** Those by the current root key and by those before: whichever is left in the end proves it. */
  signByAll(bytes: Uint8Array): string
  /** @param macs of `sign` or `signByAll`; one is enough */
  isSigned(bytes: Uint8Array, macs: string): boolean
  /** Opens what this one does, and writes by the root key that is named; by the same one where it is not known. */
  by(fingerprint: string | undefined): Promise<Keeper>
}

/**
 * @param ofRootKeys keys of the current root key, and of those before it
 * @param more recipients of the operator's, beside the service's own
 */
export async function openKeeper(
  ofRootKeys: readonly [DeriveKey, ...DeriveKey[]],
  more: readonly string[],
): Promise<Keeper> {
  const [current] = ofRootKeys
  const identity = identityOf(current)
  const opener = new Decrypter()
  for (const deriveKey of ofRootKeys) opener.addIdentity(identityOf(deriveKey))
  return {
    fingerprint: fingerprintBy(current),
    identity,
    recipients: [await identityToRecipient(identity), ...more],
    opener,
    sign: (bytes) => macOf(current, bytes).toString('hex'),
    signByAll: (bytes) => ofRootKeys.map((key) => macOf(key, bytes).toString('hex')).join(' '),
    isSigned(bytes, macs) {
      const proofs = macs.split(' ').map((mac) => Buffer.from(mac, 'hex'))
      return ofRootKeys.some((deriveKey) => {
        const expected = macOf(deriveKey, bytes)
        return proofs.some(
          (proof) => proof.length === expected.length && timingSafeEqual(proof, expected),
        )
      })
    },
    by(fingerprint) {
      const named = ofRootKeys.find((one) => fingerprintBy(one) === fingerprint) ?? current
      return openKeeper([named, ...ofRootKeys.filter((one) => one !== named)], more)
    },
  }
}

/** As `openKeeper`, where there are the root keys themselves. */
export const keeperBy = (
  [current, ...others]: readonly [Uint8Array, ...Uint8Array[]],
  more: readonly string[],
): Promise<Keeper> => openKeeper([keysFrom(current), ...others.map(keysFrom)], more)

/** X25519 takes any 32 bytes as a secret key (RFC 7748 §5). */
const identityOf = (deriveKey: DeriveKey): string =>
  bech32.encodeFromBytes('AGE-SECRET-KEY-', deriveKey('backup identity')).toUpperCase()

const macOf = (deriveKey: DeriveKey, bytes: Uint8Array): Buffer =>
  createHmac('sha256', deriveKey('backup manifest')).update(bytes).digest()
