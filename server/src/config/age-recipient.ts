/** Recipients of age files: X25519 public keys in Bech32 (age-encryption.org/v1, BIP 173). */
import { bech32 } from '@scure/base'

/** Returns true for a native age recipient, `age1…`, with a valid checksum. */
export function isRecipient(text: string): boolean {
  const decoded = bech32.decodeUnsafe(text)
  return decoded?.prefix === 'age' && bech32.fromWordsUnsafe(decoded.words)?.length === 32
}
