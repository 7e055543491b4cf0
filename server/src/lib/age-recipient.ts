/** Recipients of age files: X25519 public keys in Bech32 (age-encryption.org/v1, BIP 173). */
import { bech32 } from '@scure/base'

/** Whether the text is a native recipient, `age1…`, with its checksum right. */
export function isRecipient(text: string): boolean {
  const decoded = bech32.decodeUnsafe(text)
  return decoded?.prefix === 'age' && bech32.fromWordsUnsafe(decoded.words)?.length === 32
}
