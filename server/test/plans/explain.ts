/** Explains statements as the service sends them, with the connection settings, the scope and the role of a request. */
import pg from 'pg'
import { APP_ROLE, openPool, PLATFORM_ROLE } from '../../src/platform/db/connection.ts'
import type { TenantTx } from '../../src/platform/db/index.ts'
import { queriesOn, type Statement } from '../../src/platform/db/statements.ts'
import { openTotals } from '../../src/platform/lists/totals.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { endingPool, type TestDatabase } from '../support/database.ts'

/** A database and a connection to it with the settings of requests. */
export interface PlanDatabase {
  database: TestDatabase
  client: pg.PoolClient
}

export async function connectionTo({ address }: TestDatabase): Promise<pg.PoolClient> {
  const connection = await endingPool(openPool(address, 1)).connect()
  atTheEnd(() => connection.release())
  return connection
}

export interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Plan[]
}

type Condition = (node: Plan) => boolean

/** Matches scans of tables and indexes. Of a bitmap scan, only the scan of the heap matches. */
export const isScan: Condition = ({ 'Node Type': type }) =>
  /Scan/.test(type) && !/Bitmap Index|Subquery|Function/.test(type)

/** Counts the rows that the nodes of a plan have read, whether or not a filter removed them. */
export function rowsRead(plan: Plan, isRead: Condition = isScan): number {
  const below = (plan.Plans ?? []).reduce((sum, child) => sum + rowsRead(child, isRead), 0)
  if (!isRead(plan)) return below
  const { 'Rows Removed by Filter': filtered = 0, 'Rows Removed by Index Recheck': lossy = 0 } =
    plan
  return below + (plan['Actual Rows'] + filtered + lossy) * plan['Actual Loops']
}

export const pagesRead = (plans: readonly Plan[]) =>
  plans.reduce((sum, plan) => sum + plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], 0)

/** Explains a statement by running it, and rolls its changes back. */
async function explain(client: pg.PoolClient, sql: string, values: unknown[]): Promise<Plan> {
  await client.query('savepoint before')
  const options = 'analyze, buffers, timing off, format json'
  const { rows } = await client.query(`explain (${options}) ${sql}`, values)
  await client.query('rollback to before')
  return rows[0]['QUERY PLAN'][0].Plan
}

/**
 * Options for planning a statement: its plan mode, and changes that the owner makes first. A rollback undoes the
 * changes.
 */
export interface Planning {
  mode?: 'auto' | 'force_generic_plan' | 'force_custom_plan'
  furnishing?: string
}

/** Runs the work in a transaction of a tenant, or of all tenants. Each query is explained before it runs. */
export async function explained<T>(
  { client }: PlanDatabase,
  tenantId: number | null,
  work: (tx: TenantTx) => Promise<T>,
  planning: Planning = {},
): Promise<{ plans: Plan[]; value: T }> {
  const plans: Plan[] = []
  const run = async ({ sql, parameters }: Statement) => {
    const values = [...parameters]
    if (/^\s*(select|with|delete)\b/i.test(sql)) plans.push(await explain(client, sql, values))
    return client.query(sql, values)
  }
  const sent: Promise<unknown>[] = []
  const tx = {
    db: queriesOn(run),
    tenantId,
    totals: openTotals(),
    sendFor: (statement: Statement) => ({ rows: run(statement).then(({ rows }) => rows) }),
    send: ({ sql, parameters }: Statement) => void sent.push(client.query(sql, [...parameters])),
    end: () => undefined,
  } as unknown as TenantTx
  await begin(client, tenantId, planning)
  try {
    const value = await work(tx)
    await Promise.all(sent)
    return { plans, value }
  } finally {
    await client.query(planning.furnishing ? 'rollback' : 'commit')
  }
}

async function begin(
  client: pg.PoolClient,
  tenantId: number | null,
  { mode = 'auto', furnishing }: Planning,
): Promise<void> {
  await client.query('begin')
  if (furnishing) await client.query(`set local role none; ${furnishing}`)
  await client.query(`
    set local role ${tenantId === null ? PLATFORM_ROLE : APP_ROLE};
    set local wardkeep.tenant_id = '${tenantId ?? ''}';
    set local plan_cache_mode = ${mode}`)
}

/** Collects the statements that a list sends. Returns empty results to the list. */
export async function statementsOf(
  tenantId: number | null,
  run: (tx: TenantTx) => Promise<unknown>,
): Promise<Statement[]> {
  const sent: Statement[] = []
  const sendFor = (statement: Statement) => {
    sent.push(statement)
    return { rows: Promise.resolve([]) }
  }
  const db = queriesOn(() => Promise.reject(new Error('only the first statements are collected')))
  const tx = { db, tenantId, totals: openTotals(), sendFor, end: () => undefined }
  await run(tx as unknown as TenantTx)
  return sent
}

/** Returns a value as a PostgreSQL literal. */
function inText(value: unknown): string {
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  if (Array.isArray(value)) return `{${value.map((one) => JSON.stringify(inText(one))).join(',')}}`
  return String(value)
}

/** Returns the plan of a prepared statement as text: by default the generic plan. */
export async function planOf(
  { client }: Pick<PlanDatabase, 'client'>,
  tenantId: number | null,
  { sql, parameters }: Statement,
  planning: Planning = {},
): Promise<string> {
  await begin(client, tenantId, { mode: 'force_generic_plan', ...planning })
  try {
    const literals = parameters.map((value) => pg.escapeLiteral(inText(value))).join(', ')
    await client.query(`prepare page as ${sql}`)
    const { rows } = await client.query(
      `explain execute page${literals === '' ? '' : `(${literals})`}`,
    )
    return rows.map((row) => row['QUERY PLAN'] as string).join('\n')
  } finally {
    await client.query('rollback; deallocate all')
  }
}
