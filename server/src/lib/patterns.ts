/** Patterns of text, each with the sentence for people: no message shows a regular expression (decisions §1). */

const SENTENCES = new Map<string, string>()

/** Returns the pattern as a part of a schema. `should` completes "String should …". */
export function patterned(pattern: string, should: string): { pattern: string } {
  SENTENCES.set(pattern, should)
  return { pattern }
}

/** Returns what a text should be, for one that does not match. @throws Error for a pattern without a sentence */
export function sentenceOf(pattern: string): string {
  const should = SENTENCES.get(pattern)
  if (should === undefined) throw new Error(`the pattern ${pattern} has no sentence`)
  return `String should ${should}`
}
