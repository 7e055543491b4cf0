/** COPY from a database: the exact bytes of all rows and a reusable connection, or an error. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { ownerClient, type PgConnection } from './connection.ts'
import { copyOut } from './copy-out.ts'

let database: TestDatabase
let client: PgConnection

beforeEach(async () => {
  database = await migratedDatabase()
  client = ownerClient(database.address)
  client.on('error', () => undefined)
  await client.connect()
})
afterEach(async () => {
  await client.end()
  await database.close()
})

async function read(query: string): Promise<string> {
  const pieces: Buffer[] = []
  for await (const rows of copyOut(client, `copy (${query}) to stdout`))
    pieces.push(Buffer.from(rows))
  return Buffer.concat(pieces).toString()
}

const isThere = async () => (await client.query('select 1 as one')).rows

test('a COPY query returns rows of any width, and the connection can then run another statement', async () => {
  const widths = [0, 1, 300, 7_000, 70_000, 3_000_000]
  const expected = widths
    .flatMap((width) => Array.from({ length: 20 }, (_, turn) => `${turn}\t${'x'.repeat(width)}\n`))
    .join('')
  expect(
    await read(`select turn, repeat('x', width) from unnest(array[${widths}]) with ordinality as w (width, place),
      generate_series(0, 19) as turn order by place, turn`),
  ).toBe(expected)
  expect(await read('select 1 where false')).toBe('')
  expect(await isThere()).toEqual([{ one: 1 }])
})

test('a COPY query returns a hundred thousand short rows, wherever network packets split them', async () => {
  const expected = Array.from({ length: 100_000 }, (_, id) => `${id}\t\\N\n`).join('')
  expect(await read('select id, null from generate_series(0, 99999) as id')).toBe(expected)
})

test('a COPY connection runs several statements in order that are sent at once', async () => {
  const all = [1, 2, 3].map((one) => read(`select ${one} from generate_series(1, 1000)`))
  const lines = (await Promise.all(all)).map((text) => new Set(text.trim().split('\n')))
  expect(lines).toEqual([new Set(['1']), new Set(['2']), new Set(['3'])])
})

test('a COPY query ignores server notices between rows', async () => {
  await client.query(`create function pg_temp.told(id int) returns int language plpgsql
    as $$ begin raise notice 'row %', id; return id; end $$`)
  const expected = Array.from({ length: 500 }, (_, id) => `${id}\n`).join('')
  expect(await read('select pg_temp.told(id) from generate_series(0, 499) as id')).toBe(expected)
})

test.each([
  ['at the start', 'select nothing from nowhere', /nowhere/],
  ['after some rows', 'select 1 / (90000 - id) from generate_series(1, 100000) as id', /division/],
])(
  'a COPY query throws an error that occurs %s, and keeps the connection usable',
  async (_, query, message) => {
    await expect(read(query)).rejects.toThrow(message)
    expect(await isThere()).toEqual([{ one: 1 }])
  },
)

test('a COPY query throws if the connection is lost or closed during the read', async () => {
  const endless = `copy (select repeat('x', 1000) from generate_series(1, 5000) a, generate_series(1, 5000) b) to stdout`
  const rows = copyOut(client, endless)
  await rows.next()
  const [{ pid }] = (await database.sql<{ pid: number }>(
    `select pid from pg_stat_activity where query like 'copy (select repeat%' and state = 'active'
       and datname = current_database()`,
  )) as [{ pid: number }]
  await database.sql('select pg_terminate_backend($1)', [pid])
  const toTheEnd = async (of: AsyncGenerator<Buffer>) => {
    for await (const _ of of);
  }
  await expect(toTheEnd(rows)).rejects.toThrow(/terminat/)

  const other = ownerClient(database.address)
  await other.connect()
  const more = copyOut(other, endless)
  await more.next()
  await other.end()
  await expect(toTheEnd(more)).rejects.toThrow(/terminat/)
})
