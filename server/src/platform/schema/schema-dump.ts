/**
 * Writes the schema of a database as readable SQL, based on the system catalogues. Does not use pg_dump, because the
 * embedded server does not include it, and the text must be the same on every supported PostgreSQL version.
 *
 * Omits owners, which differ for each installation; roles, which belong to the cluster; and partitions, which depend on
 * the date.
 */
import type pg from 'pg'
import { schemaQueries as queries } from './schema-queries.ts'

type Row = { owner: string; line: string }
/** A table or a view. `query` is the SELECT of a view, and null for a table. */
type Relation = { owner: string; head: string; options: string; query: string | null }
type Parts = Record<keyof typeof queries, Map<string, string[]>>

const HEADER = [
  '-- The schema that the migrations make. Generated from the catalogues of a migrated database',
  '-- by `npm run generate`; not meant to be edited or run.',
].join('\n')

export async function dumpSchema(client: pg.ClientBase): Promise<string> {
  // Runs all queries in one snapshot.
  await client.query('begin transaction isolation level repeatable read, read only')
  try {
    return await readSchema(client)
  } finally {
    await client.query('rollback')
  }
}

/** Like `dumpSchema`, but runs in the caller's transaction, and sets its search path to `public`. */
export async function readSchema(client: pg.ClientBase): Promise<string> {
  // PostgreSQL omits the schema from names that are in the search path.
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

/** Returns the text of a table or view, followed by its indexes, policies and other objects. */
function describeRelation({ owner, head, options, query }: Relation, parts: Parts): string {
  const of = (name: keyof Parts) => parts[name].get(owner) ?? []
  const members = [...of('columns'), ...of('constraints')].map((line) => `  ${line}`).join(',\n')
  const create =
    query === null ? `${head} (\n${members}\n)${options};` : `${head}${options} AS\n${query}`
  const attached = ['indexes', 'statistics', 'rowSecurity', 'policies', 'triggers'] as const
  return withNotes(parts, owner, [create, ...attached.flatMap(of)])
}

/** Appends the grants and comments of an object to its lines. */
function withNotes(parts: Parts, owner: string, lines: string[]): string {
  const notes = [parts.grants, parts.comments].flatMap((part) => part.get(owner) ?? [])
  return [...lines, ...notes].join('\n')
}

function grouped(rows: Row[]): Map<string, string[]> {
  const lines = new Map<string, string[]>()
  for (const { owner, line } of rows) lines.set(owner, [...(lines.get(owner) ?? []), line])
  return lines
}
