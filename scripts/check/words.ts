/**
 * Finds words that the project does not use in comments, test titles, messages and documents. A text without such words
 * can still be hard to read.
 */

/** Words and phrases to refuse, each with what to write instead. */
const REFUSED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bmeanwhile\b/i, 'while …, in the meantime, or nothing'],
  [/\banew\b/i, 'again'],
  [/\bby (?:itself|themselves)\b/i, 'automatically'],
  [/\b(?:whoever|whatever|whichever|whomever)\b/i, 'any caller, any …'],
  [/\b(?:likewise|thereby|whereby|hereby)\b/i, 'also, so'],
  [
    /\b(?:is|are|was|were) no (?!longer\b|later\b|earlier\b|larger\b|smaller\b|more than\b)/i,
    'not a …, there is no …',
  ],
  [/\bno more\b(?! than\b)/i, 'no longer, nothing else'],
  [/\blet(?:s|ting)? go of\b/i, 'release'],
  [/\b(?:tells?|told) (?:of|about)\b/i, 'report, notify, log'],
]
/** "There is no …" is allowed, because it names a thing that is missing. */
const ALLOWED = /\b(?:there|it) (?:is|are|was|were) no\b/gi
/** The words that must not open a doc comment. Doc comments start with a verb in the third person or a noun. */
const OPENING = /^(?:Of|What|Who|Whose|That|Which)\b/

export interface RefusedWord {
  line: number
  text: string
  instead: string
}

interface Piece {
  line: number
  text: string
  isComment: boolean
}

/** Returns the refused words of a TypeScript file or a Markdown document. */
export function refusedWords(file: string, content: string): RefusedWord[] {
  const pieces = file.endsWith('.md') ? proseOf(content) : piecesOf(content)
  return pieces.flatMap(({ line, text, isComment }) => {
    const read = text.replaceAll(ALLOWED, '')
    const found = REFUSED.flatMap(([pattern, instead]) => {
      const hit = pattern.exec(read)
      return hit ? [{ line, text: hit[0].trim(), instead }] : []
    })
    const opening = isComment ? OPENING.exec(text) : null
    return opening
      ? [{ line, text: opening[0], instead: 'a verb in the third person, or a noun' }, ...found]
      : found
  })
}

/** Returns the comments and the titles of tests. */
function piecesOf(code: string): Piece[] {
  const lineAt = (index: number) => code.slice(0, index).split('\n').length
  const comments = [...code.matchAll(/\/\*\*?([\s\S]*?)\*\/|(?<=^|\s)\/\/ (.*)$/gm)].map(
    (found) => ({
      line: lineAt(found.index),
      text: (found[1] ?? found[2] ?? '').replaceAll(/\s*\n\s*\* ?/g, ' ').trim(),
      isComment: found[1] !== undefined,
    }),
  )
  const titles = [
    ...code.matchAll(/\b(?:test|it|describe)(?:\.\w+)*(?:\([^'"`]*?\))?\(\s*(['"`])(.*?)\1/g),
  ].map((found) => ({ line: lineAt(found.index), text: found[2] ?? '', isComment: false }))
  return [...comments, ...titles]
}

/** Returns a document line by line, without code. */
function proseOf(document: string): Piece[] {
  const blank = (text: string) => text.replaceAll(/[^\n]/g, ' ')
  return document
    .replaceAll(/^ *```.*?^ *```/gms, blank)
    .replaceAll(/`[^`\n]*`/g, blank)
    .split('\n')
    .map((text, at) => ({ line: at + 1, text, isComment: false }))
}
