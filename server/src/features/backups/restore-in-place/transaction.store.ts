/** The SQL that begins the transaction of a restore, switches its role, and commits it. */
import pg from 'pg'
import { Problem } from '../../../lib/problems.ts'
import {
  APP_ROLE,
  CHANNEL,
  type PgConnection,
  PLATFORM_ROLE,
  recordTopics,
} from '../../../platform/db/index.ts'
import type { RestoreRule, RestoreRules } from '../../../platform/feature/restore-rule.ts'

/** How long to wait for running writers. This is longer than any statement of the service may run. */
const WRITERS_END_WITHIN = '60s'
const SOMEBODY_WRITES =
  'Nothing was restored, because a transaction has been writing to the database for more than a minute. Find it in pg_stat_activity, then start the restore again'
/** The maximum number of attempts to lock the tables. A deadlock with a writer may abort an attempt. */
const MAX_TRIES = 10

/**
 * Returns the tables to lock during a full restore: tables that it writes, and tables whose rows a cascading delete may
 * remove. Tables that a restore never changes are not locked, because the record of the safety backup is written to
 * them.
 */
export async function writtenTables(client: PgConnection, rules: RestoreRules): Promise<string[]> {
  const having = (...kinds: RestoreRule[]) =>
    Object.keys(rules).filter((name) => kinds.some((kind) => kind === rules[name]))
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname <> all($2) and (c.relname = any($1) or exists (
         select from pg_constraint f join pg_class t on t.oid = f.confrelid
         where f.contype = 'f' and f.conrelid = c.oid and t.relname = any($1)))
     order by 1`,
    [having('restored', 'merged', 'kept', 'ended', 'closed'), having('never touched')],
  )
  return rows.map(({ name }) => name)
}

/**
 * Begins the transaction. The transaction fails if it would overwrite a row that was committed after its snapshot.
 * Returns the name of the exported snapshot.
 * @param locked the tables to lock against other writers, after waiting for the running ones
 */
export async function begin(client: PgConnection, locked: readonly string[]): Promise<string> {
  for (let tried = 1; ; tried += 1)
    try {
      await client.query('begin isolation level repeatable read')
      // Locks the tables before the first query, so that the snapshot includes commits made during the wait.
      if (locked.length > 0)
        await client.query(`set local lock_timeout = '${WRITERS_END_WITHIN}';
          lock table ${locked.map(pg.escapeIdentifier).join(', ')} in share row exclusive mode;
          set local lock_timeout to default`)
      break
    } catch (error) {
      // Ignores an error, because the connection itself may have failed. The original error shows the cause.
      await client.query('rollback').catch(() => undefined)
      if ((error as { code?: string }).code === '55P03')
        throw new Problem('busy', { detail: SOMEBODY_WRITES, cause: error })
      if (tried >= MAX_TRIES || !isOutpaced(error)) throw error
    }
  const { rows } = await client.query<{ name: string }>('select pg_export_snapshot() as name')
  return rows[0]?.name ?? ''
}

/** Returns true if the transaction failed because of a conflict with other writers, so a retry may succeed. */
export function isOutpaced(error: unknown): boolean {
  return ['40001', '40P01'].includes((error as { code?: string }).code ?? '')
}

/**
 * The database role in which a step runs:
 * - `owner`: the role of the connection, which owns the tables;
 * - `platform`: the role that sees the rows of all tenants;
 * - `scope`: the application's role limited to the restored tenant, or `platform` for a full restore.
 */
export type RestoreRole = 'owner' | 'platform' | 'scope'

/** Switches the role until the transaction ends. @param tenantId the restored tenant; null for a full restore */
export async function setRole(
  client: PgConnection,
  role: RestoreRole,
  tenantId: number | null,
): Promise<void> {
  await client.query(roleStatement(role, tenantId))
}

function roleStatement(role: RestoreRole, tenantId: number | null): string {
  if (role === 'owner') return 'reset role'
  if (role === 'platform' || tenantId === null) return `set local role ${PLATFORM_ROLE}`
  return `set local role ${APP_ROLE}; set local wardkeep.tenant_id = '${Number(tenantId)}'`
}

/** Commits the transaction, and notifies every node to drop its caches. */
export async function commit(client: PgConnection): Promise<void> {
  await client.query(recordTopics(['restored']))
  await client.query('commit')
  // Ignores a failed notification, because the nodes find the recorded topic when they poll.
  await client.query(`select pg_notify('${CHANNEL}', 'restored')`).catch(() => undefined)
}
