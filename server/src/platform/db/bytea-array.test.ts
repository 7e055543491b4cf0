/** Tests that encoded byte arrays arrive in the database unchanged. */
import { expect, test } from 'vitest'
import { migratedDatabase } from '../../../test/support/database.ts'
import { byteaArray } from './bytea-array.ts'

test.each([
  ['no parts', []],
  ['one part', [Buffer.from('one')]],
  [
    'an empty buffer, nulls, and bytes that are not text',
    [Buffer.alloc(0), null, Buffer.from([0, 255, 0x5c, 0x22]), null],
  ],
  ['many parts', Array.from({ length: 1_000 }, (_, index) => Buffer.alloc(index, index))],
])('the driver encodes a PostgreSQL array of %s', async (_what, parts: (Buffer | null)[]) => {
  const database = await migratedDatabase()
  const found = await database.sql<{ part: Buffer | null }>(
    'select part from unnest($1::bytea[]) with ordinality as u(part, at) order by at',
    [byteaArray(parts)],
  )
  expect(found.map(({ part }) => part)).toEqual(parts)
})
