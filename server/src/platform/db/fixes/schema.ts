/** The schema as it should be, read from the committed one, and as it is, read from the catalogues. */
import { readFile } from 'node:fs/promises'
import { schemaQueries } from '../schema-queries.ts'
import { type Kind, kindOf, subjectOf } from './statement.ts'

export interface Statement {
  readonly kind: Kind
  /** What it is about. */
  readonly subject: string
  /** What it hangs on: the subject of the table, function or schema; its own where it makes one. */
  readonly head: string
  readonly text: string
}

export interface Schema {
  readonly statements: readonly Statement[]
  /** The tables, views, functions and schemas that there are. */
  readonly heads: ReadonlySet<string>
}

/** Asks the database, in whatever transaction and role. */
export type Ask = <R>(text: string, values?: readonly unknown[]) => Promise<R[]>

/** Made by `npm run generate` from what the migrations make. */
const COMMITTED = new URL('../../../../schema.sql', import.meta.url)

export const readCommitted = async (): Promise<Schema> =>
  parseSchema(await readFile(COMMITTED, 'utf8'))

const HEADS: readonly Kind[] = [
  'schema',
  'extension',
  'type',
  'sequence',
  'function',
  'table',
  'view',
]

/** @throws when a statement is none that a schema has */
export function parseSchema(sql: string): Schema {
  const statements: Statement[] = []
  let head = ''
  for (const text of split(sql)) {
    const kind = kindOf(text)
    if (HEADS.includes(kind)) head = subjectOf(kind, text)
    else head = schemaOf(text) ?? head
    statements.push({ kind, subject: subjectOf(kind, text), head, text })
    if (kind === 'table') statements.push(...membersOf(head, text))
  }
  return { statements, heads: new Set(statements.map((one) => one.head)) }
}

/** Comments, and whatever a semicolon in does not end a statement. */
const TOKENS =
  /--[^\n]*|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$).*?\1|BEGIN ATOMIC\n.*?\nEND|\s+|[^-'"$;\s]+|./gs

function split(sql: string): string[] {
  const statements: string[] = []
  let text = ''
  for (const [token] of sql.matchAll(TOKENS)) {
    if (token.startsWith('--')) continue
    text += token
    if (token !== ';') continue
    statements.push(text.trim())
    text = ''
  }
  return statements
}

/** The schema that a grant is on: `public` is made by nobody. */
const schemaOf = (text: string): string | undefined =>
  /^(?:GRANT|REVOKE) .+? ON SCHEMA (\S+) /.exec(text)?.map((name) => `schema ${name}`)[1]

/** The columns and constraints of a table, each on a line of its own. */
function membersOf(head: string, create: string): Statement[] {
  const [, members = ''] = /\(\n {2}(.*)\n\)/s.exec(create) ?? []
  return members.split(/,\n {2}(?! )/).map((text) => memberOf(head, text))
}

function memberOf(head: string, text: string): Statement {
  const kind = text.startsWith('CONSTRAINT ') ? 'constraint' : 'column'
  return { kind, subject: `${subjectOf(kind, text)} of ${head}`, head, text }
}

type Part = Exclude<keyof typeof schemaQueries, 'relations'>
const KIND_OF_PART: Partial<Record<Part, Kind>> = {
  indexes: 'index',
  rowSecurity: 'row security',
  policies: 'policy',
  triggers: 'trigger',
  grants: 'grants',
}

interface Line {
  owner: string
  line: string
}

/** The tables and views as they are, and these parts of the schema, where they hang on one of both. */
export async function readLive(ask: Ask, parts: readonly Part[]): Promise<Schema> {
  await ask(`select set_config('search_path', 'public', true)`)
  const heads = new Map<string, string>()
  const statements: Statement[] = []
  for (const { owner, head: text } of await ask<{ owner: string; head: string }>(
    schemaQueries.relations,
  )) {
    const kind = kindOf(text)
    heads.set(owner, subjectOf(kind, text))
    statements.push({ kind, subject: subjectOf(kind, text), head: subjectOf(kind, text), text })
  }
  for (const part of parts)
    for (const { owner, line } of await ask<Line>(schemaQueries[part])) {
      const isMember = part === 'columns' || part === 'constraints'
      const kind = isMember ? undefined : (KIND_OF_PART[part] ?? kindOf(line))
      if (kind && HEADS.includes(kind)) heads.set(owner, subjectOf(kind, line))
      else if (part === 'schemas') heads.set(owner, schemaOf(line) ?? '')
      const head = heads.get(owner)
      // A partition's, or of what another schema than ours has.
      if (head === undefined) continue
      statements.push(
        kind ? { kind, subject: subjectOf(kind, line), head, text: line } : memberOf(head, line),
      )
    }
  return { statements, heads: new Set(heads.values()) }
}
