/** The changes of an entry have the same canonical bytes after PostgreSQL has stored them as jsonb. */
import { beforeAll, expect, test } from 'vitest'
import { canonicalJson } from '../../src/lib/canonical-json.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { fc } from '../support/properties.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await migratedDatabase()
})

/** Any text that jsonb accepts, which has no NUL. */
const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((value) => !value.includes('\0'))
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.oneof(text, fc.nat().map(String)), tie('value'), { maxKeys: 6 }),
  ),
})).value

test('any JSON that is written as changes is read with the same canonical bytes', async () => {
  const values = fc.sample(json, 2_000)
  const stored = await database.sql<{ changes: unknown }>(
    `select value::jsonb as changes from unnest($1::text[]) with ordinality as written (value, at)
     order by at`,
    [values.map((value) => JSON.stringify(value))],
  )
  for (const [at, value] of values.entries())
    expect(canonicalJson(stored[at]?.changes)).toBe(
      canonicalJson(JSON.parse(JSON.stringify(value))),
    )
})
