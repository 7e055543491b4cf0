/** Statements name their columns: a node goes on while a newer one adds some (ARCHITECTURE.md). */
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'

const source = path.resolve(import.meta.dirname, '../../src')

/** What is unnested, or comes of a statement within, is named by the statement itself. */
const EVERYTHING =
  /\b(selectAll|returningAll)\s*\(|\breturning\s+(\w+\.)?\*|\bselect\s+(distinct\s+)?(\w+\.)?\*(?!\s*from\s+(unnest)?\()/i

test.each([
  '.selectAll()',
  ".selectAll('users')",
  '.returningAll()',
  'select * from users',
  'SELECT DISTINCT u.* from users u',
  'insert into users default values returning *',
  'delete from users u returning u.*',
])('%s is found', (text) => {
  expect(EVERYTHING.test(text)).toBe(true)
})

test.each([
  'select count(*) from users',
  'select * from unnest($1::bigint[]) as t(id)',
  'select * from (select id from users) u',
  'x * y',
])('%s is none', (text) => {
  expect(EVERYTHING.test(text)).toBe(false)
})

test('no statement of the service takes all the columns that a table happens to have', async () => {
  const files = await Array.fromAsync(glob('**/*.ts', { cwd: source }))
  expect(files.length).toBeGreaterThan(100)
  const found: string[] = []
  // The dump of the schema reads the catalogue, once, on a connection of its own.
  const others = /\.test\.ts$|^platform\/db\/schema-queries\.ts$/
  for (const file of files.filter((name) => !others.test(name))) {
    const lines = (await readFile(path.join(source, file), 'utf8')).split('\n')
    lines.forEach((line, at) => void (EVERYTHING.test(line) && found.push(`${file}:${at + 1}`)))
  }
  expect(found).toEqual([])
})
