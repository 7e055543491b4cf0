/** Runs Kysely's compiled queries on one pooled connection, as named prepared statements. */

import type { Writable } from 'node:stream'
import {
  type CompiledQuery,
  type DatabaseConnection,
  DefaultQueryExecutor,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type RawBuilder,
  SingleConnectionProvider,
  sql,
  Transaction,
} from 'kysely'
import pg from 'pg'
import type { Database } from './database.ts'

/**
 * The maximum number of named statements, stored per connection. Lists with filters have too many variants for names.
 */
const MAX_NAMES = 500
const names = new Map<string, string>()

/** Returns the name of a statement. Returns undefined for a new statement if the limit is reached. */
function nameOf(sql: string): string | undefined {
  const known = names.get(sql)
  if (known || names.size >= MAX_NAMES) return known
  const name = `s${names.size}`
  names.set(sql, name)
  return name
}

/** Encodes a value as the driver does. Returns encoded values unchanged. The driver's types omit this function. */
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } })
  .utils

/**
 * Returns a query named by text and scope (plans depend on the role), or unprepared if the scope is null. @throws Error
 * if a value cannot be encoded, for which the driver would silently drop the statement
 */
export function prepared(
  scope: string | null,
  text: string,
  values: readonly unknown[],
): pg.QueryConfig {
  const name = scope === null ? undefined : nameOf(text)
  return { ...(name ? { name: `${scope}${name}` } : {}), text, values: values.map(prepareValue) }
}

/** Sends a statement. Statements of the same turn share a packet, because each write costs a system call. */
export function ask(
  client: pg.Client | pg.PoolClient,
  query: string | pg.QueryConfig,
): Promise<pg.QueryResult> {
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection
  stream.cork()
  // Runs after the callbacks of settled promises, so that the packet includes their statements.
  process.nextTick(() => stream.uncork())
  return client.query(query as pg.QueryConfig)
}

export type Ask = (query: string | pg.QueryConfig) => Promise<pg.QueryResult>

export type SendStatement = (statement: Statement) => Promise<pg.QueryResult>

function connectionOn(send: SendStatement): DatabaseConnection {
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const result = await send(query)
      return { rows: result.rows, numAffectedRows: BigInt(result.rowCount ?? 0) }
    },
    streamQuery() {
      throw new Error('streaming is done with COPY, not through Kysely')
    },
  }
}

const dialect = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}
const shared = {
  config: { dialect },
  driver: dialect.createDriver(),
  dialect,
}
const compiler = dialect.createQueryCompiler()
const adapter = dialect.createAdapter()

/** Returns a query builder that sends its queries with `send`, inside the open transaction. */
export function queriesOn(send: SendStatement): Transaction<Database> {
  const provider = new SingleConnectionProvider(connectionOn(send))
  return new Transaction<Database>({
    ...shared,
    executor: new DefaultQueryExecutor(compiler, adapter, provider),
  })
}

export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'> & {
  /** Milliseconds after which the connection counts as lost, for statements that may take longer than usual. */
  waitMs?: number
}

class Slot {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const builder = new Kysely<Database>({ dialect })

/** Returns the placeholder for a named value. Used by code that builds a statement or a part of one. */
export type ValueOf<V extends object> = <K extends keyof V & string>(name: K) => RawBuilder<V[K]>

/**
 * Compiles a statement once, because building takes longer than sending. Returns a function that fills in a run's
 * values. Example: `statement<{ id: number }>((value) => sql\`select ${value('id')}\`)`.
 */
export function statement<V extends object>(
  build: (value: ValueOf<V>, db: Kysely<Database>) => { compile(db: Kysely<Database>): Statement },
): (values: V) => Statement {
  const value = (name: string) => sql.val(new Slot(name) as never)
  const { sql: text, parameters } = build(value, builder).compile(builder)
  return (values) => ({
    sql: text,
    parameters: parameters.map((given) =>
      given instanceof Slot ? values[given.name as keyof V] : given,
    ),
  })
}
