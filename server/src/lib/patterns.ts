/** Readable descriptions of patterns. Messages show them instead of regular expressions (decisions §1). */

const SENTENCES = new Map<string, string>()

/** Returns the pattern as part of a schema. Its description `should` completes "String should …". */
export function patterned(pattern: string, should: string): { pattern: string } {
  SENTENCES.set(pattern, should)
  return { pattern }
}

/** Returns the error message for a text that does not match. @throws Error for a pattern without a description */
export function patternSentence(pattern: string): string {
  const should = SENTENCES.get(pattern)
  if (should === undefined) throw new Error(`the pattern ${pattern} has no sentence`)
  return `String should ${should}`
}
