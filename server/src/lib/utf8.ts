/** Decoding of UTF-8 text from other programs. */
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Decodes UTF-8, without a leading byte-order mark. Returns undefined when the bytes are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
