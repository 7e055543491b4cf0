/** Reads the expected schema from the committed file and the actual schema from the catalogues. */
import { readFile } from 'node:fs/promises'
import { schemaQueries } from '../schema-queries.ts'
import { type Kind, kindOf, repairSubjectOf } from './statement.ts'

export interface RepairStatement {
  readonly kind: Kind
  /** The name of the object that the statement is about. */
  readonly subject: string
  /**
   * The name of the table, function or schema that contains the object. If the statement creates that table, function
   * or schema, the name equals `subject`.
   */
  readonly head: string
  readonly text: string
}

export interface Schema {
  readonly statements: readonly RepairStatement[]
  /** The names of all tables, views, functions and schemas. */
  readonly heads: ReadonlySet<string>
}

/** Runs a query on the caller's connection, in its current transaction and role. Returns the rows. */
export type AskSchema = <R>(text: string, values?: readonly unknown[]) => Promise<R[]>

/** The schema file of this release, which `npm run generate` creates from a migrated database. */
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

/** Parses the SQL of a schema dump. @throws Error if a statement has an unknown form */
export function parseSchema(sql: string): Schema {
  const statements: RepairStatement[] = []
  let head = ''
  for (const text of split(sql)) {
    const kind = kindOf(text)
    if (HEADS.includes(kind)) head = repairSubjectOf(kind, text)
    else head = schemaOf(text) ?? head
    statements.push({ kind, subject: repairSubjectOf(kind, text), head, text })
    if (kind === 'table') statements.push(...membersOf(head, text))
  }
  return { statements, heads: new Set(statements.map((one) => one.head)) }
}

/** Matches comments, and tokens such as strings. A semicolon inside them does not end the statement. */
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

/** Returns the schema that a GRANT or REVOKE names. There is no CREATE SCHEMA before the grants on `public`. */
const schemaOf = (text: string): string | undefined =>
  /^(?:GRANT|REVOKE) .+? ON SCHEMA (\S+) /.exec(text)?.map((name) => `schema ${name}`)[1]

/** Returns the columns and constraints of a table, each on its own line. */
function membersOf(head: string, create: string): RepairStatement[] {
  const [, members = ''] = /\(\n {2}(.*)\n\)/s.exec(create) ?? []
  return members.split(/,\n {2}(?! )/).map((text) => memberOf(head, text))
}

function memberOf(head: string, text: string): RepairStatement {
  const kind = text.startsWith('CONSTRAINT ') ? 'constraint' : 'column'
  return { kind, subject: `${repairSubjectOf(kind, text)} of ${head}`, head, text }
}

type Part = Exclude<keyof typeof schemaQueries, 'relations' | 'comments' | 'statistics'>
/**
 * The parts of the schema in the order of reading, with objects before their privileges. If a part has no kind here,
 * the kind is determined from the text of each line.
 */
const PARTS = {
  schemas: undefined,
  extensions: undefined,
  types: undefined,
  sequences: undefined,
  functions: 'function',
  columns: 'column',
  constraints: 'constraint',
  indexes: 'index',
  rowSecurity: 'row security',
  policies: 'policy',
  triggers: 'trigger',
  grants: 'grants',
} as const satisfies Record<Exclude<Part, 'defaultPrivileges'>, Kind | undefined>

interface Line {
  owner: string
  line: string
}

/** Reads the actual schema, without partitions and default privileges. */
export async function readLive(ask: AskSchema): Promise<Schema> {
  const heads = new Map<string, string>()
  const statements: RepairStatement[] = []
  for (const { owner, head: text } of await ask<{ owner: string; head: string }>(
    schemaQueries.relations,
  )) {
    const kind = kindOf(text)
    const subject = repairSubjectOf(kind, text)
    heads.set(owner, subject)
    statements.push({ kind, subject, head: subject, text })
  }
  for (const [part, known] of Object.entries(PARTS))
    for (const { owner, line } of await ask<Line>(schemaQueries[part as keyof typeof PARTS])) {
      const kind = known ?? kindOf(line)
      if (HEADS.includes(kind)) heads.set(owner, repairSubjectOf(kind, line))
      else if (part === 'schemas') heads.set(owner, schemaOf(line) ?? '')
      const head = heads.get(owner)
      // Skips the objects of partitions, because they have no head.
      if (head === undefined) continue
      const isMember = kind === 'column' || kind === 'constraint'
      const subject = repairSubjectOf(kind, line)
      statements.push(isMember ? memberOf(head, line) : { kind, subject, head, text: line })
    }
  return { statements, heads: new Set(heads.values()) }
}
