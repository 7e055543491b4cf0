/** SQL of a forwarder's row: its lease, its position, and its failure. Leases use the database's clock. */
import { sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'
import { LEASE_SECONDS } from '../lease/index.ts'
import type { Position } from './consumer.ts'

/** Where a forwarder begins that has no position yet: with new entries, with the oldest, or with those since a time. */
export type ForwardSince = 'now' | 'start' | Date

/** The highest id that JSON can represent. No entry of the same transaction has a higher id. */
const LAST_ID = Number.MAX_SAFE_INTEGER

/** The place just below the oldest running transaction, before every entry that is not visible yet. */
const NOW = sql`select (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text::xid8, ${LAST_ID}::bigint`

/** The place before the first entry, in the order of the journal, that was written at or after a time. */
const before = (time: Date) => sql`
  select coalesce(first.xid, latest.xid), coalesce(first.id - 1, latest.id)
  from (${NOW}) as latest(xid, id) left join (
    select xid, id from journal where created_at >= ${time.toISOString()}::timestamptz
    order by xid, id limit 1) as first on true`

/** Creates the row of a forwarder, unless it exists. A later start continues at its position. */
export async function createForwarder(
  tx: TenantTx,
  name: string,
  since: ForwardSince,
): Promise<void> {
  const exists = await tx.db
    .selectFrom('journal_consumers')
    .select('consumer')
    .where('consumer', '=', name)
    .executeTakeFirst()
  if (exists) return
  const place =
    since === 'start' ? sql`values ('0'::xid8, 0::bigint)` : since === 'now' ? NOW : before(since)
  await sql`
    insert into journal_consumers (consumer, xid, id) select ${name}, place.xid, place.id
    from (${place}) as place(xid, id) on conflict (consumer) do nothing`.execute(tx.db)
}

/**
 * Claims the lease if no other process has it. Also claims a lease whose end is implausibly late, because the
 * database's clock was wrong when it was written.
 */
export async function claimForwarder(tx: TenantTx, name: string): Promise<number | undefined> {
  const { rows } = await sql<{ epoch: number }>`
    update journal_consumers set epoch = epoch + 1,
      leased_until = now() + make_interval(secs => ${LEASE_SECONDS})
    where consumer = ${name} and (leased_until is null or leased_until <= now()
      or leased_until > now() + make_interval(secs => ${2 * LEASE_SECONDS}))
    returning epoch`.execute(tx.db)
  return rows[0]?.epoch
}

export async function renewForwarder(tx: TenantTx, name: string, epoch: number): Promise<boolean> {
  const { rows } = await sql`
    update journal_consumers set leased_until = now() + make_interval(secs => ${LEASE_SECONDS})
    where consumer = ${name} and epoch = ${epoch} and leased_until is not null
    returning epoch`.execute(tx.db)
  return rows.length > 0
}

export async function holdsForwarder(tx: TenantTx, name: string, epoch: number): Promise<boolean> {
  const row = await tx.db
    .selectFrom('journal_consumers')
    .select('epoch')
    .where('consumer', '=', name)
    .where('epoch', '=', epoch)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row !== undefined
}

export async function releaseForwarder(tx: TenantTx, name: string, epoch: number): Promise<void> {
  await tx.db
    .updateTable('journal_consumers')
    .set({ leased_until: null })
    .where('consumer', '=', name)
    .where('epoch', '=', epoch)
    .execute()
}

/** A position, and the number of entries delivered up to it. */
export interface ForwardPosition extends Position {
  sequence: number
}

export async function findForwardPosition(tx: TenantTx, name: string): Promise<ForwardPosition> {
  return tx.db
    .selectFrom('journal_consumers')
    .select(['xid', 'id', 'sequence'])
    .where('consumer', '=', name)
    .executeTakeFirstOrThrow()
}

/** Saves the position of delivered entries, which ends a failure. The caller has checked the lease. */
export async function saveForwardPosition(
  tx: TenantTx,
  name: string,
  { xid, id, sequence }: ForwardPosition,
): Promise<void> {
  await tx.db
    .updateTable('journal_consumers')
    .set({ xid, id, sequence, updated_at: sql`now()`, failing_since: null, error: null })
    .where('consumer', '=', name)
    .execute()
}

/** Records a failed attempt. @param error a sentence for people, which the health report shows */
export async function saveForwardFailure(tx: TenantTx, name: string, error: string): Promise<void> {
  await tx.db
    .updateTable('journal_consumers')
    .set({ failing_since: sql`coalesce(failing_since, now())`, error })
    .where('consumer', '=', name)
    .execute()
}

export interface ForwardState {
  failing_since: string | null
  error: string | null
}

/** Returns whether the last attempt failed, and why. Undefined before the first process has created the forwarder. */
export async function findForwardState(
  tx: TenantTx,
  name: string,
): Promise<ForwardState | undefined> {
  return tx.db
    .selectFrom('journal_consumers')
    .select(['failing_since', 'error'])
    .where('consumer', '=', name)
    .executeTakeFirst()
}
