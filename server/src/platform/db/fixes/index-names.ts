/** The statements of indexes under other names: on a partition, and beside the one in whose place it comes. */
import { NAME } from './statement.ts'

/** A partition, by its table. */
export interface Partition {
  parent: string
  /** As a statement names it, and alone. */
  path: string
  name: string
}

/** An index's statement, in its pieces: names as they stand in it. */
export interface Pieces {
  unique: string
  name: string
  /** With its dot. */
  schema: string
  table: string
  rest: string
}

const PIECES = new RegExp(
  `^CREATE (?<unique>UNIQUE )?INDEX (?<name>${NAME}) ON (?<schema>${NAME}\\.)?(?<table>${NAME}) (?<rest>.*)$`,
  's',
)

export function piecesOf(statement: string): Pieces {
  const groups = PIECES.exec(statement)?.groups ?? {}
  const { unique = '', name = '', schema = '', table = '', rest = '' } = groups
  return { unique, name, schema, table, rest }
}

const statementOf = ({ unique, name, schema, table, rest }: Pieces) =>
  `CREATE ${unique}INDEX ${name} ON ${schema}${table} ${rest}`

/** The server cuts what is longer, and the end is what tells one from another. */
const LONGEST = 63
const OF_SUCCESSOR = '__successor'

/** Under the name that it has until it takes the place of another. */
export function successorOf(statement: string): string {
  const pieces = piecesOf(statement)
  const name = bare(pieces.name).slice(0, LONGEST - OF_SUCCESSOR.length)
  return statementOf({ ...pieces, name: quoted(`${name}${OF_SUCCESSOR}`) })
}

export function onPartition(statement: string, { path, name: partition }: Partition): string {
  const pieces = piecesOf(statement)
  const name = quoted(`${partition}_${bare(pieces.name)}`.slice(0, LONGEST))
  return statementOf({ ...pieces, name, schema: '', table: path })
}

const bare = (name: string) =>
  name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name

/** As the server quotes it: none of these names is a word of SQL, as each has an underscore. */
const quoted = (name: string) =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
