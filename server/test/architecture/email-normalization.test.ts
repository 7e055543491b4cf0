/**
 * Only `lib/email.ts` folds an address. Two different ways of folding would create two throttle counters for one
 * account.
 */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'

const source = path.resolve(import.meta.dirname, '../../src')
const FOLDS = /\.(toLowerCase|toUpperCase|toLocaleLowerCase|toLocaleUpperCase|normalize)\(/
const ADDRESS = /mail|mailbox|address/i
/** In SQL, the database would fold the parameter by its own rules. */
const FOLDS_A_PARAMETER = /\b(lower|upper|normalize)\(\s*\$/i
/** Matches a search for part of a name or address. There the database folds both sides. */
const SEARCHES = /\bsearch\b/

/** Returns the lines that fold an address, or that fold a parameter in SQL. */
function folding(text: string): string[] {
  return text
    .split('\n')
    .filter(
      (line) =>
        (FOLDS.test(line) && ADDRESS.test(line)) ||
        (FOLDS_A_PARAMETER.test(line) && !SEARCHES.test(line)),
    )
}

test('only lib/email.ts normalizes e-mail addresses', async () => {
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
])('the check finds code that normalizes an e-mail address: %s', (line) => {
  expect(folding(line)).toEqual([line])
})
