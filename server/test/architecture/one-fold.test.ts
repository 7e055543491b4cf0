/** An address is folded in `lib/email.ts` and nowhere else: two folds are two counts of one account. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'

const source = path.resolve(import.meta.dirname, '../../src')
const FOLDS = /\.(toLowerCase|toUpperCase|toLocaleLowerCase|toLocaleUpperCase|normalize)\(/
const ADDRESS = /mail|mailbox|address/i
/** In SQL the database would fold the parameter by rules of its own. */
const FOLDS_A_PARAMETER = /\b(lower|upper|normalize)\(\s*\$/i
/** A part of a name, or of an address, that is looked for: the database folds both sides. */
const SEARCHES = /\bsearch\b/

/** The lines that fold what is called an address, or what is handed to SQL. */
function folding(text: string): string[] {
  return text
    .split('\n')
    .filter(
      (line) =>
        (FOLDS.test(line) && ADDRESS.test(line)) ||
        (FOLDS_A_PARAMETER.test(line) && !SEARCHES.test(line)),
    )
}

test('nobody else folds an address', async () => {
  const files = await Array.fromAsync(
    glob('**/*.ts', { cwd: source, exclude: (name) => name.endsWith('.test.ts') }),
  )
  expect(files.length).toBeGreaterThan(100)
  const found = files
    .filter((file) => file !== path.join('lib', 'email.ts'))
    .flatMap((file) => folding(readFileSync(path.join(source, file), 'utf8')))
  expect(found).toEqual([])
})

test.each([
  'const asked = JSON.stringify([email.toLowerCase()])',
  "const local = address.normalize('NFKC')",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
  "where(sql`lower(users.email)`, '=', sql`lower(${email})`)",
])('a fold is seen: %s', (line) => {
  expect(folding(line)).toEqual([line])
})
