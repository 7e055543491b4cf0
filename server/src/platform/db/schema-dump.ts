/**
 * Writes the database's schema as readable SQL, made from the catalogues: the embedded server comes
 * without pg_dump, and what is generated must read the same on every supported PostgreSQL.
 *
 * Left out: owners (they differ from installation to installation), roles (they belong to the
 * cluster) and the partitions of partitioned tables (they are made by date).
 */
import type pg from 'pg'
import { schemaQueries as queries } from './schema-queries.ts'

type Row = { owner: string; line: string }
/** `query` is that of a view; tables have none. */
type Relation = { owner: string; head: string; options: string; query: string | null }
type Parts = Record<keyof typeof queries, Map<string, string[]>>

const HEADER = [
  '-- The schema that the migrations make. Generated from the catalogues of a migrated database',
  '-- by `npm run generate`; not meant to be edited or run.',
].join('\n')

export async function dumpSchema(client: pg.ClientBase): Promise<string> {
  // One snapshot for all queries.
  await client.query('begin transaction isolation level repeatable read, read only')
  try {
    return await readSchema(client)
  } finally {
    await client.query('rollback')
  }
}

/** As `dumpSchema`, of what the caller's transaction sees; its search path is `public` from then on. */
export async function readSchema(client: pg.ClientBase): Promise<string> {
  // The search path decides which names are written with a schema.
  await client.query('set local search_path = public')
  const { relations, ...rest } = queries
  const tables = (await client.query<Relation>(relations)).rows
  const parts = {} as Parts
  for (const [name, text] of Object.entries(rest)) {
    parts[name as keyof Parts] = grouped((await client.query<Row>(text)).rows)
  }
  const alone = (name: keyof Parts) =>
    [...parts[name]].map(([owner, lines]) => withNotes(parts, owner, lines))
  return [
    HEADER,
    ...alone('schemas'),
    ...alone('extensions'),
    ...alone('types'),
    ...alone('sequences'),
    ...alone('functions'),
    ...tables.map((table) => describeRelation(table, parts)),
    ...alone('defaultPrivileges'),
  ]
    .join('\n\n')
    .concat('\n')
}

/** A table's text: what it is, then everything that hangs on it. */
function describeRelation({ owner, head, options, query }: Relation, parts: Parts): string {
  const of = (name: keyof Parts) => parts[name].get(owner) ?? []
  const members = [...of('columns'), ...of('constraints')].map((line) => `  ${line}`).join(',\n')
  const create =
    query === null ? `${head} (\n${members}\n)${options};` : `${head}${options} AS\n${query}`
  const attached = ['indexes', 'statistics', 'rowSecurity', 'policies', 'triggers'] as const
  return withNotes(parts, owner, [create, ...attached.flatMap(of)])
}

/** Grants and comments stand behind whatever they are about. */
function withNotes(parts: Parts, owner: string, lines: string[]): string {
  const notes = [parts.grants, parts.comments].flatMap((part) => part.get(owner) ?? [])
  return [...lines, ...notes].join('\n')
}

function grouped(rows: Row[]): Map<string, string[]> {
  const lines = new Map<string, string[]>()
  for (const { owner, line } of rows) lines.set(owner, [...(lines.get(owner) ?? []), line])
  return lines
}
