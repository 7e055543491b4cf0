/** Statements name their columns, so a node keeps working after a newer node has added columns (ARCHITECTURE.md). */
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'

const source = path.resolve(import.meta.dirname, '../../src')

/**
 * Matches statements that select every column. Allows `*` over unnest or a subquery, because these name their own
 * columns.
 */
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
])('the check of SQL statements refuses %s', (text) => {
  expect(EVERYTHING.test(text)).toBe(true)
})

test.each([
  'select count(*) from users',
  'select * from unnest($1::bigint[]) as t(id)',
  'select * from (select id from users) u',
  'x * y',
])('the check of SQL statements allows %s', (text) => {
  expect(EVERYTHING.test(text)).toBe(false)
})

test('no SQL statement of the service selects all columns of a table', async () => {
  const files = await Array.fromAsync(glob('**/*.ts', { cwd: source }))
  expect(files.length).toBeGreaterThan(100)
  const found: string[] = []
  // Skips tests, and the schema dump, which reads the catalogue once on its own connection.
  const others = /\.test\.ts$|^platform\/schema\/schema-queries\.ts$/
  for (const file of files.filter((name) => !others.test(name))) {
    const lines = (await readFile(path.join(source, file), 'utf8')).split('\n')
    lines.forEach((line, at) => void (EVERYTHING.test(line) && found.push(`${file}:${at + 1}`)))
  }
  expect(found).toEqual([])
})
