/** The SQL of the messenger's faults: a bot that nobody is, and chats that wait for days. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../messenger.table.ts'

export interface BotLease {
  leased_until: string | null
  epoch: number
  /** Whether it has run out so many minutes ago. */
  is_free: boolean
  /** Whether it goes further than any lease: nobody renews it, and nobody may take it. */
  is_stuck: boolean
}

export async function findLease(tx: TenantTx, minutes: number): Promise<BotLease> {
  const { rows } = await sql<BotLease>`
    select leased_until, epoch,
      coalesce(leased_until < now() - make_interval(mins => ${minutes}), true) as is_free,
      coalesce(leased_until > now() + make_interval(mins => ${minutes}), false) as is_stuck
    from messenger_bot`.execute(tx.db)
  return rows[0] as BotLease
}

/** Ends a lease that goes too far; who has it writes nothing from then on. */
export async function freeLease(tx: TenantTx, minutes: number): Promise<void> {
  await sql`
    update messenger_bot set leased_by = null, leased_until = now(), epoch = epoch + 1
    where leased_until > now() + make_interval(mins => ${minutes})`.execute(tx.db)
}

/** Which chats are meant: what is queued for them waits since before, and they are left alone. */
const paused = (before: string, now: string) => sql`
  from messenger_notices n
    join messenger_links l on l.tenant_id = n.tenant_id and l.id = n.link_id
    join messenger_chats c on c.hash = l.chat_hash
  where n.event_at < ${before}::timestamptz and n.queued_at < ${before}::timestamptz
    and (c.failures > 0 or c.due_at is null or c.due_at > ${now}::timestamptz)`

export interface PausedChats {
  tenant_id: number
  chats: number
  /** Numbers of their links, some of them. */
  links: string
  failures: number
  since: string
}

/** Chats that have failed or rested for so long, by tenant. */
export async function listPaused(
  tx: TenantTx,
  before: string,
  now: string,
): Promise<PausedChats[]> {
  const { rows } = await sql<PausedChats>`
    select tenant_id, count(*) as chats, max(failures) as failures, min(since) as since,
      array_to_string((array_agg(id order by id))[:10], ', ') as links
    from (
      select l.tenant_id, l.id, max(c.failures) as failures, min(n.queued_at) as since
      ${paused(before, now)} group by l.tenant_id, l.id) chats
    where tenant_id not in (select id from tenants where deleted_at is not null)
    group by tenant_id order by tenant_id`.execute(tx.db)
  return rows
}

export async function countLinks(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ links: number }>`
    select count(*) as links from messenger_links`.execute(tx.db)
  return rows[0]?.links ?? 0
}

/** Has the tenant's paused chats tried again now. Returns how many. */
export async function resumePaused(
  tx: TenantTx,
  tenantId: number,
  before: string,
  now: string,
): Promise<number> {
  await sql`set local lock_timeout = '2s'`.execute(tx.db)
  const { numAffectedRows = 0n } = await sql`
    update messenger_chats set due_at = ${now}::timestamptz, free_at = null, failures = 0
    where hash in (select l.chat_hash ${paused(before, now)} and l.tenant_id = ${tenantId})`.execute(
    tx.db,
  )
  return Number(numAffectedRows)
}
