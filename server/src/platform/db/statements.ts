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
 * Names are kept per connection by the server, so their number is bounded: by the texts of the code,
 * as lists with filters, which alone come in any combination, have none.
 */
const MAX_NAMES = 500
const names = new Map<string, string>()

/** The name under which a statement is prepared; undefined once the bound is reached. */
function nameOf(sql: string): string | undefined {
  const known = names.get(sql)
  if (known || names.size >= MAX_NAMES) return known
  const name = `s${names.size}`
  names.set(sql, name)
  return name
}

/** As the driver writes a value; what it has written stays as it is. Its types leave it out. */
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } })
  .utils

/**
 * A query under the name it is prepared by. The scope is part of it, as plans depend on the role; null
 * for queries that are not to be prepared.
 * @throws where a value cannot be written; the driver itself would find that out later, leave the
 *   statement out and go on
 */
export function prepared(
  scope: string | null,
  text: string,
  values: readonly unknown[],
): pg.QueryConfig {
  const name = scope === null ? undefined : nameOf(text)
  return { ...(name ? { name: `${scope}${name}` } : {}), text, values: values.map(prepareValue) }
}

/**
 * Sends a statement on the connection. What is sent in the same turn leaves in one piece: each write
 * costs a system call, and wakes the server's process.
 */
export function ask(
  client: pg.PoolClient,
  query: string | pg.QueryConfig,
): Promise<pg.QueryResult> {
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection
  stream.cork()
  // Behind all promises that are settled by now: what they send is part of it.
  process.nextTick(() => stream.uncork())
  return client.query(query as pg.QueryConfig)
}

/** Sends a statement, and answers it. */
export type Send = (statement: Statement) => Promise<pg.QueryResult>

function connectionOn(send: Send): DatabaseConnection {
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

/** A query builder whose queries are sent by `send`, inside the transaction that is open there. */
export function queriesOn(send: Send): Transaction<Database> {
  const provider = new SingleConnectionProvider(connectionOn(send))
  return new Transaction<Database>({
    ...shared,
    executor: new DefaultQueryExecutor(compiler, adapter, provider),
  })
}

/** A statement with its values, ready to be sent. */
export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'> & {
  /** Milliseconds until a connection that says nothing counts as lost, of what may take longer than most. */
  waitMs?: number
}

/** A place in a statement that each run fills with a value of its own. */
class Slot {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const builder = new Kysely<Database>({ dialect })

/** Names the places of a statement: what `statement` gives to what builds one, or a part of one. */
export type ValueOf<V extends object> = <K extends keyof V & string>(name: K) => RawBuilder<V[K]>

/**
 * A statement whose text is built once: what is run for most requests takes longer to build than to
 * send. `statement<{ id: number }>((value) => sql\`select ${value('id')}\`)`.
 * @param build has `value(name)` wherever each run has a value of its own, and `db` to build with
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
