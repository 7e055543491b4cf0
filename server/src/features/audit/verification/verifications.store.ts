/** SQL for the verification of the transparency logs: its progress, and what it found. */
import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Scope, TenantTx } from '../../../platform/db/index.ts'
import type { Finding } from '../offline/index.ts'
import type { LeafRow } from '../transparency/read-log.store.ts'
import type {
  AuditFindingsTable,
  AuditVerificationsTable,
} from '../transparency/transparency.table.ts'

/** A running pass over a log. */
export interface Pass
  extends Pick<
    Selectable<AuditVerificationsTable>,
    | 'tenant_id'
    | 'epoch'
    | 'next_index'
    | 'covered_from'
    | 'pass_started_at'
    | 'is_requested'
    | 'listed'
    | 'counted'
    | 'is_mailed'
    | 'verified_size'
  > {
  pass_size: number
  /** The hours that are left until the pass should end. */
  hours_left: number
}

/** How long a pass may take, and how old the last one may be when the next one starts. Together below 30 days. */
const PASS_DAYS = 28
/** How long entries wait for a pass after the start of the last one. */
const NEW_ENTRIES = sql`interval '1 day'`

const PASS = sql<Pass>`tenant_id, epoch, pass_size, next_index, covered_from, pass_started_at, is_requested,
  listed, counted, is_mailed, verified_size,
  extract(epoch from pass_started_at + make_interval(days => ${sql.lit(PASS_DAYS)}) - now())::float8 / 3600 as hours_left`

/** All logs with their verifications, if any. */
const ALL_LOGS = sql`audit_logs log left join audit_verifications verification using (tenant_id, epoch)`

/** The current logs with their verifications, if any. */
const LOGS = sql`(select distinct on (tenant_id) tenant_id, epoch, size from audit_logs
    order by tenant_id, epoch desc) log
  left join audit_verifications verification using (tenant_id, epoch)`

/** The columns of a pass that begins. */
const BEGIN = sql`pass_size = excluded.pass_size, next_index = excluded.pass_size, covered_from = null,
  pass_started_at = now(), is_requested = excluded.is_requested, listed = 0, counted = 0, is_mailed = false`

/** Returns the tenant of a log that a person requested. */
export async function findRequested(
  tx: TenantTx,
  except: readonly number[],
): Promise<number | undefined> {
  const found = await tx.db
    .selectFrom('audit_verifications')
    .select('tenant_id')
    .where('is_requested', '=', true)
    .where(sql<boolean>`tenant_id <> all(${except}::bigint[])`)
    .orderBy('pass_started_at')
    .limit(1)
    .executeTakeFirst()
  return found?.tenant_id
}

/** Returns the next tenant above `after` whose log has a running pass, or needs another one. */
export async function findDue(tx: TenantTx, after: number): Promise<number | undefined> {
  const { rows } = await sql<{ tenant_id: number }>`
    select tenant_id from ${ALL_LOGS}
    where tenant_id > ${after} and (pass_size is not null or ${IS_DUE})
    order by tenant_id limit 1`.execute(tx.db)
  return rows[0]?.tenant_id
}

const IS_DUE = sql`(pass_started_at is null
  or pass_started_at < now() - make_interval(days => ${sql.lit(PASS_DAYS)})
  or (size <> verified_size and pass_started_at < now() - ${NEW_ENTRIES}))`

/** Returns the running pass over the latest log of a tenant that has one. Begins passes that are due. */
export async function openPass(tx: TenantTx, tenantId: number): Promise<Pass | undefined> {
  await sql`
    insert into audit_verifications (tenant_id, epoch, pass_size, next_index, is_requested)
    select tenant_id, epoch, size, size, false from ${ALL_LOGS}
    where tenant_id = ${tenantId} and pass_size is null and ${IS_DUE}
    on conflict (tenant_id, epoch) do update set ${BEGIN}
    where audit_verifications.pass_size is null`.execute(tx.db)
  const { rows } = await sql<Pass>`
    select ${PASS} from audit_verifications where tenant_id = ${tenantId} and pass_size is not null
    order by epoch desc limit 1`.execute(tx.db)
  return rows[0]
}

/** Begins requested passes over the logs of the scope, except for those that have a requested one. */
export async function requestPasses(tx: TenantTx, tenantId: Scope): Promise<void> {
  await sql`
    insert into audit_verifications (tenant_id, epoch, pass_size, next_index, is_requested)
    select tenant_id, epoch, size, size, true from ${ALL_LOGS} where ${within(tenantId)}
    on conflict (tenant_id, epoch) do update set ${BEGIN}
    where not audit_verifications.is_requested`.execute(tx.db)
}

const within = (tenantId: Scope): RawBuilder<boolean> =>
  tenantId === null ? sql`true` : sql`tenant_id = ${tenantId}`

export interface Progress {
  nextIndex: number
  coveredFrom: string | null
  listed: number
  counted: number
  isMailed: boolean
}

/**
 * Locks a pass, unless it has moved on or began again after `pass` was read. Returns whether it is the same, so that
 * each segment is recorded once.
 */
export async function lockPass(tx: TenantTx, pass: Pass): Promise<boolean> {
  const found = await tx.db
    .selectFrom('audit_verifications')
    .select('epoch')
    .where('tenant_id', '=', pass.tenant_id)
    .where('epoch', '=', pass.epoch)
    .where('pass_started_at', '=', pass.pass_started_at)
    .where('pass_size', '=', pass.pass_size)
    .where('next_index', '=', pass.next_index)
    .forUpdate()
    .executeTakeFirst()
  return found !== undefined
}

/** Records the progress of a locked pass. */
export async function saveProgress(tx: TenantTx, pass: Pass, progress: Progress): Promise<void> {
  await tx.db
    .updateTable('audit_verifications')
    .set({
      next_index: progress.nextIndex,
      covered_from: progress.coveredFrom,
      listed: progress.listed,
      counted: progress.counted,
      is_mailed: progress.isMailed,
    })
    .where('tenant_id', '=', pass.tenant_id)
    .where('epoch', '=', pass.epoch)
    .execute()
}

/** Ends a locked pass. Findings that it has not found again are gone. */
export async function endPass(tx: TenantTx, { tenant_id, epoch, pass_size }: Pass): Promise<void> {
  await sql`update audit_findings finding set gone_at = now() from audit_verifications pass
    where finding.tenant_id = ${tenant_id} and finding.epoch = ${epoch}
      and pass.tenant_id = ${tenant_id} and pass.epoch = ${epoch}
      and gone_at is null and last_found_at < pass_started_at`.execute(tx.db)
  await tx.db
    .updateTable('audit_verifications')
    .set({
      pass_size: null,
      is_requested: false,
      verified_size: pass_size,
      verified_at: sql`now()`,
    })
    .where('tenant_id', '=', tenant_id)
    .where('epoch', '=', epoch)
    .execute()
}

type KnownFinding = Pick<
  Selectable<AuditFindingsTable>,
  'id' | 'kind' | 'index' | 'entry_id' | 'gone_at'
>

/** Lists all findings of a log. */
export const listFindings = (tx: TenantTx, { tenant_id, epoch }: Pass): Promise<KnownFinding[]> =>
  tx.db
    .selectFrom('audit_findings')
    .select(['id', 'kind', 'index', 'entry_id', 'gone_at'])
    .where('tenant_id', '=', tenant_id)
    .where('epoch', '=', epoch)
    .execute()

/** Records that findings were found again. */
export async function touchFindings(tx: TenantTx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx.db
    .updateTable('audit_findings')
    .set({ last_found_at: sql`now()`, gone_at: null })
    .where('id', 'in', ids)
    .execute()
}

export async function insertFindings(
  tx: TenantTx,
  epoch: number,
  findings: readonly Finding[],
): Promise<void> {
  if (findings.length === 0) return
  await tx.db
    .insertInto('audit_findings')
    .values(findings.map((finding) => ({ ...finding, epoch })))
    .execute()
}

/** The state of the verification of a log. */
export interface VerificationRow {
  tenant_id: number
  epoch: number
  size: number
  verified_size: number
  verified_at: string | null
  findings: number
  pass_size: number | null
  next_index: number | null
  pass_started_at: string | null
  is_requested: boolean
}

/** Lists the state of the current logs of the scope, by tenant. */
export async function listVerifications(
  tx: TenantTx,
  tenantId: Scope,
  limit: number,
): Promise<VerificationRow[]> {
  const { rows } = await sql<VerificationRow>`
    select tenant_id, epoch, size, coalesce(verified_size, 0) as verified_size, verified_at,
      (select count(*) from audit_findings finding where finding.tenant_id = log.tenant_id
        and finding.epoch = log.epoch and gone_at is null)::int as findings,
      pass_size, next_index, pass_started_at, coalesce(is_requested, false) as is_requested
    from ${LOGS} where ${within(tenantId)} order by tenant_id limit ${limit}`.execute(tx.db)
  return rows
}

/** Counts the findings in all logs that are not gone, by kind. */
export async function countFindings(
  tx: TenantTx,
): Promise<{ kind: Finding['kind']; count: number; since: string }[]> {
  const { rows } = await sql<{ kind: Finding['kind']; count: number; since: string }>`
    select kind, count(*)::int as count, min(found_at) as since from audit_findings
    where gone_at is null group by kind order by kind`.execute(tx.db)
  return rows
}

/**
 * Returns the oldest end of the last verification among all logs, or the start of their first verification. Null before
 * the first run.
 */
export async function findOldest(tx: TenantTx): Promise<string | null> {
  const { rows } = await sql<{ oldest: string | null }>`
    select min(coalesce(verified_at, pass_started_at)) as oldest from ${LOGS}`.execute(tx.db)
  return rows[0]?.oldest ?? null
}

/** Returns true if the verification of any log has ended. */
export async function isAnyVerified(tx: TenantTx): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`
    select exists (select from audit_verifications where verified_at is not null) as is`.execute(
    tx.db,
  )
  return rows[0]?.is ?? false
}

/**
 * Returns the MACs of entries by id. Leaves out entries from before the service key, because their key was lost with a
 * root key.
 */
export async function findMacs(
  tx: TenantTx,
  leaves: readonly LeafRow[],
): Promise<Map<number, Buffer | null>> {
  const entries = leaves.flatMap(({ entry }) => entry ?? [])
  if (entries.length === 0) return new Map()
  const [ids, times] = [entries.map(({ id }) => id), entries.map(({ created_at }) => created_at)]
  const found = await tx.db
    .selectFrom('journal')
    .select(['id', 'mac'])
    .where(
      sql<boolean>`(id, created_at) in (select * from unnest(${ids}::bigint[], ${times}::timestamptz[]))`,
    )
    .where('created_at', '>=', sql<string>`(select created_at from service_key)`)
    .execute()
  return new Map(found.map(({ id, mac }) => [id, mac]))
}
