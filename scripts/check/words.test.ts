import { expect, test } from 'vitest'
import { refusedWords } from './words.ts'

const found = (file: string, content: string) =>
  refusedWords(file, content).map(({ line, text }) => `${line}: ${text}`)

test('the check of words finds refused words in comments and test titles, and reports their lines', () => {
  const code = `/** Returns one. */
const one = 1 // meanwhile
/**
 * Of a queue that
 * ends by itself.
 */
test('whatever it is', () => {})
test.each([1])('is no number', () => {})`
  expect(found('a.ts', code).sort()).toEqual([
    '2: meanwhile',
    '3: Of',
    '3: by itself',
    '7: whatever',
    '8: is no',
  ])
})

test('the check of words ignores refused words in code and strings', () => {
  expect(found('a.ts', `const text = 'meanwhile'\nconst whoever = 1`)).toEqual([])
})

test('the check of words accepts "no" before a missing thing, in a comparison and in "no longer"', () => {
  const text = 'There is no key. It is no longer used. It has no more than ten.'
  expect(found('a.md', text)).toEqual([])
})

test('the check of words ignores code blocks and code words in documents', () => {
  expect(found('a.md', 'Sealed `anew`.\n\n```sh\nanew\n```\n\nSealed anew.')).toEqual(['7: anew'])
})
