/** The SQL of a restore's end: closed nodes, one transaction, one word to all of them. */
import pg from 'pg'
import { Problem } from '../../../lib/problems.ts'
import type { Time } from '../../../lib/time.ts'
import {
  APP_ROLE,
  CHANNEL,
  type Connection,
  EVERY_TENANT,
  LOCKS,
  PLATFORM_ROLE,
} from '../../../platform/db/index.ts'
import type { Actor } from '../../../platform/journal/index.ts'
import type { RestoreRule, RestoreRules } from '../../../platform/restore-rule.ts'
import { LostJobError } from '../work/work.store.ts'
import type { TenantCase } from './access.store.ts'
import { MAX_CASES } from './outcome.ts'

/** Longer than any node that is well takes to hear of it. */
const HEARD_AFTER_MS = 1_000
/** What writes for longer than any statement of the service may is somebody's who has to be asked. */
const WRITERS_END_WITHIN = '60s'
const SOMEBODY_WRITES =
  'Nothing was restored: somebody writes to the database for longer than a minute; see who by pg_stat_activity, and ask again'
/** Somebody may wait for us while we wait for them: one gives way, and begins again. */
const TRIES = 10

/** Has every node answer 503, for the tenant or for all, for as long as the connection lives or until reopened. */
export async function close(
  client: Connection,
  tenantId: number | null,
  clock: Pick<Time, 'delay'>,
): Promise<void> {
  await noticeDeath(client)
  await client.query('select pg_advisory_lock($1, $2)', [LOCKS.closed, tenantId ?? EVERY_TENANT])
  await clock.delay(HEARD_AFTER_MS)
}

/**
 * Has the server look, also within a statement, whether the process is still there: killed in the middle of a large
 * one it would leave the service closed until that ends.
 */
async function noticeDeath(client: Connection): Promise<void> {
  // Refused by servers whose system cannot tell.
  await client.query(`set client_connection_check_interval = '1s'`).catch(() => undefined)
}

export async function reopen(client: Connection, tenantId: number | null): Promise<void> {
  await client.query('select pg_advisory_unlock($1, $2)', [LOCKS.closed, tenantId ?? EVERY_TENANT])
}

/**
 * The tables in which nobody else may write while everything is restored: those that it writes, and those whose rows
 * may go along with theirs. The restore enters its safety backup meanwhile, in those that are never touched.
 */
export async function writtenBy(client: Connection, rules: RestoreRules): Promise<string[]> {
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
 * Begins the one transaction. What others commit from here on is either not touched by it, or makes it
 * fail: nothing that is not in the snapshot is ever overwritten. Returns the snapshot's name.
 * @param still tables in which nobody else writes from here on; who is at it is waited for
 */
export async function begin(client: Connection, still: readonly string[]): Promise<string> {
  for (let tried = 1; ; tried += 1)
    try {
      await client.query('begin isolation level repeatable read')
      // Before the first look: what is committed while this waits has to be in the snapshot.
      if (still.length > 0)
        await client.query(`set local lock_timeout = '${WRITERS_END_WITHIN}';
          lock table ${still.map(pg.escapeIdentifier).join(', ')} in share row exclusive mode;
          set local lock_timeout to default`)
      break
    } catch (error) {
      // The connection may be what failed: what is thrown is why.
      await client.query('rollback').catch(() => undefined)
      if ((error as { code?: string }).code === '55P03')
        throw new Problem('busy', { detail: SOMEBODY_WRITES, cause: error })
      if (tried >= TRIES || !isOutrun(error)) throw error
    }
  const { rows } = await client.query<{ name: string }>('select pg_export_snapshot() as name')
  return rows[0]?.name ?? ''
}

/** Whether others were at the same rows, so that the transaction was given up: as a whole it may be tried again. */
export function isOutrun(error: unknown): boolean {
  return ['40001', '40P01'].includes((error as { code?: string }).code ?? '')
}

/** From here on row-level security holds: of the tenant, or of the platform. */
export async function enterScope(client: Connection, tenantId: number | null): Promise<void> {
  await client.query(
    tenantId === null
      ? `set local role ${PLATFORM_ROLE}`
      : `set local role ${APP_ROLE}; set local wardkeep.tenant_id = '${Number(tenantId)}'`,
  )
}

const originOf = (origin: Actor['origin']) => [
  origin?.ip ?? null,
  origin?.user_agent ?? null,
  origin?.request_id ?? null,
]

/** Writes one entry into the journal of each clinic that was restored, with what was kept of its people's access. */
export async function tellJournals(
  client: Connection,
  { user_id, user_email, origin }: Actor,
  entry: { backup_id: string; changes: object; cases: readonly TenantCase[] },
): Promise<void> {
  const kept = Object.groupBy(entry.cases, ({ tenant_id }) => tenant_id)
  const told = Object.entries(kept).map(([tenant, cases = []]) => [
    tenant,
    {
      total: cases.length,
      cases: cases.slice(0, MAX_CASES).map(({ tenant_id: _, ...shown }) => shown),
    },
  ])
  await client.query(
    `insert into journal
       (tenant_id, user_id, user_email, action, resource_type, resource_id, changes, ip, user_agent, request_id)
     select id, $1, $2, 'backup.restored', 'backup', $3, $4::jsonb || jsonb_build_object('access_kept',
       coalesce($8::jsonb -> id::text, '{"total": 0, "cases": []}')), $5, $6, $7 from stage_tenants`,
    [
      user_id,
      user_email,
      entry.backup_id,
      JSON.stringify(entry.changes),
      ...originOf(origin),
      JSON.stringify(Object.fromEntries(told)),
    ],
  )
}

/**
 * Ends the job in the restore's own transaction, and tells every node with the commit.
 * @throws LostJobError where others have ended it: they have said that nothing was restored
 */
export async function commit(client: Connection, jobId: string, result: object): Promise<void> {
  const { rowCount } = await client.query(
    `update backup_jobs set status = 'completed', progress = 1, result = $2, finished_at = now()
     where id = $1 and status = 'running'`,
    [jobId, JSON.stringify(result)],
  )
  if (rowCount === 0) throw new LostJobError()
  await client.query(`select pg_notify('${CHANNEL}', 'restored')`)
  await client.query('commit')
}
