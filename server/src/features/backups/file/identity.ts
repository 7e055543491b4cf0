/**
 * The keys of backups, derived from the root key: the service's own age identity, and a key that signs each file. Both
 * the service and the operator's recipients can decrypt new files. Files created with a former root key remain readable
 * while that key stays configured.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { bech32 } from '@scure/base'
import { Decrypter, identityToRecipient } from 'age-encryption'
import { type DeriveKey, fingerprintBy, keysFrom } from '../../../platform/crypto/index.ts'

export interface BackupKeys {
  /** The fingerprint of the root key from which these keys are derived. */
  readonly fingerprint: string
  /** The service's secret age identity (`AGE-SECRET-KEY-1…`). Never log it. */
  readonly identity: string
  /** The age recipients (`age1…`): the service's own, and those in BACKUP_AGE_RECIPIENT. */
  readonly recipients: readonly string[]
  /** The decrypter with the identities derived from the current and the former root keys. */
  readonly opener: Decrypter
  /** Returns the hexadecimal MAC of a manifest or list entry, using the current root key. */
  sign(bytes: Uint8Array): string
  /** Returns the MACs with the current and all former root keys. A verifier needs only one of these keys. */
  signByAll(bytes: Uint8Array): string
  /** Returns true if any MAC is valid. @param macs the result of `sign` or `signByAll` */
  isSigned(bytes: Uint8Array, macs: string): boolean
  /** Returns a keeper that writes with this root key; with the current one if the fingerprint is unknown or missing. */
  by(fingerprint: string | undefined): Promise<BackupKeys>
}

/**
 * Derives the backup keys from the root keys.
 * @param ofRootKeys the derivation functions of the current and the former root keys, current first
 * @param more the operator's recipients, in addition to the service's own
 */
export async function openBackupKeys(
  ofRootKeys: readonly [DeriveKey, ...DeriveKey[]],
  more: readonly string[],
): Promise<BackupKeys> {
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
      return openBackupKeys([named, ...ofRootKeys.filter((one) => one !== named)], more)
    },
  }
}

/** Does the same as `openBackupKeys`, starting from the bytes of the root keys. */
export const backupKeysFrom = (
  [current, ...others]: readonly [Uint8Array, ...Uint8Array[]],
  more: readonly string[],
): Promise<BackupKeys> => openBackupKeys([keysFrom(current), ...others.map(keysFrom)], more)

/** X25519 accepts any 32 bytes as a secret key (RFC 7748 §5). */
const identityOf = (deriveKey: DeriveKey): string =>
  bech32.encodeFromBytes('AGE-SECRET-KEY-', deriveKey('backup identity')).toUpperCase()

const macOf = (deriveKey: DeriveKey, bytes: Uint8Array): Buffer =>
  createHmac('sha256', deriveKey('backup manifest')).update(bytes).digest()
