/** Runs Kysely's compiled queries on one pooled connection, as named prepared statements. */
import {
  type CompiledQuery,
  type DatabaseConnection,
  DefaultQueryExecutor,
  DummyDriver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  SingleConnectionProvider,
  Transaction,
} from 'kysely'
import type pg from 'pg'
import type { Database } from './database.ts'

/**
 * Names are kept per connection by the server, so their number is bounded: by the texts of the code,
 * as lists with filters, which alone come in any combination, have none.
 */
const MOST_NAMES = 500
const names = new Map<string, string>()

/** The name under which a statement is prepared; undefined once the bound is reached. */
function nameOf(sql: string): string | undefined {
  const known = names.get(sql)
  if (known || names.size >= MOST_NAMES) return known
  const name = `s${names.size}`
  names.set(sql, name)
  return name
}

/**
 * A query under the name it is prepared by. The scope is part of it, as plans depend on the role; null
 * for queries that are not to be prepared.
 */
export function prepared(
  scope: string | null,
  text: string,
  values: readonly unknown[],
): pg.QueryConfig {
  const name = scope === null ? undefined : nameOf(text)
  return { ...(name ? { name: `${scope}${name}` } : {}), text, values: [...values] }
}

function connectionOn(client: pg.PoolClient, scope: string | null): DatabaseConnection {
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const result = await client.query(prepared(scope, query.sql, query.parameters))
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

/** A query builder whose queries run on `client`, inside the transaction that is open there. */
export function queriesOn(client: pg.PoolClient, scope: string | null): Transaction<Database> {
  const provider = new SingleConnectionProvider(connectionOn(client, scope))
  return new Transaction<Database>({
    ...shared,
    executor: new DefaultQueryExecutor(compiler, adapter, provider),
  })
}
