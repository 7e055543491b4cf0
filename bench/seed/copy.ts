/** Bulk loading: rows as text through COPY, without maintaining indexes. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from } from 'pg-copy-streams'

export type Value = string | number | boolean | null

/** Returns text in COPY's format. The values here contain none of its special characters. */
function* lines(rows: Iterable<readonly Value[]>): Generator<string> {
  let chunk = ''
  for (const row of rows) {
    chunk += `${row.map((value) => (value === null ? '\\N' : value)).join('\t')}\n`
    if (chunk.length < 65_536) continue
    yield chunk
    chunk = ''
  }
  yield chunk
}

export async function copyInto(
  client: pg.Client,
  table: string,
  columns: readonly string[],
  rows: Iterable<readonly Value[]>,
): Promise<void> {
  const target = client.query(from(`copy ${table} (${columns.join(', ')}) from stdin`))
  await pipeline(Readable.from(lines(rows), { objectMode: false }), target)
}

/**
 * Runs `load` without the tables' plain indexes and rebuilds them afterwards: one sort per index instead of a million
 * inserts. Unique indexes stay.
 */
export async function withoutIndexes(
  client: pg.Client,
  tables: readonly string[],
  load: () => Promise<void>,
  say: (what: string) => void,
): Promise<void> {
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
     from pg_index where indrelid = any($1::regclass[]) and not indisunique`,
    [tables],
  )
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  await load()
  for (const { name, definition } of indexes) {
    say(`index ${name}`)
    // The definition of a partitioned table's index covers the parent only. The partitions need the index too.
    await client.query(definition.replace(' ON ONLY ', ' ON '))
  }
}
