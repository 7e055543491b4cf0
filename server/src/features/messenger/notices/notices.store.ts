/** SQL of notices. Checks which chats get an event when it is queued, and again when the notice is sent. */
import { type RawBuilder, sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import { NAMED_ONLY, SECURITY_EVENTS } from '../subscriptions/events.ts'
import '../messenger.table.ts'

/** An event to match with chats. `subject` is the user whose account the event concerns. */
export interface NoticeEvent {
  id: number
  tenant_id: number
  action: string
  subject: number | null
  created_at: string
}

export interface Pair {
  entry_id: number
  event_at: string
  action: string
  tenant_id: number
  link_id: number
  chat_hash: Buffer
  is_own: boolean
}

/**
 * Returns the SQL condition under which a user gets notices of the action. `u` is the user, `t` the user's tenant and
 * `s` the user's subscription. A blocked user gets a notice of the block, and no notices afterwards. The same applies
 * to the deactivation and the deletion of a tenant.
 */
function isSubscribed(action: RawBuilder<string>, isOwn: RawBuilder<boolean>) {
  return sql<boolean>`(
    (u.is_active or (${isOwn} and ${action} = 'user.blocked'))
    and (t.is_active or ${action} in ('tenant.deactivated', 'tenant.deleted'))
    and (t.deleted_at is null or ${action} = 'tenant.deleted')
    and (${isOwn} or u.role in ('admin', 'superadmin'))
    and case when s.user_id is null then ${isOwn} and ${action} = any(${SECURITY_EVENTS}::text[])
      else ${action} = any(s.events) or (${action} <> ${NAMED_ONLY}
        and s.events && array[split_part(${action}, '.', 1) || '.*', '*']) end)`
}

/** Returns each event with every chat that gets it. A chat does not get events older than its link. */
export async function matchEvents(tx: TenantTx, events: readonly NoticeEvent[]): Promise<Pair[]> {
  const column = <K extends keyof NoticeEvent>(key: K) => events.map((event) => event[key])
  const { rows } = await sql<Pair>`
    with e as materialized (
      select * from unnest(${column('id')}::bigint[], ${column('tenant_id')}::bigint[],
        ${column('action')}::text[], ${column('subject')}::bigint[],
        ${column('created_at')}::timestamptz[]) as e(id, tenant_id, action, subject, created_at)
    ), administrators as materialized (
      select l.id, l.tenant_id, l.user_id, l.linked_at
      from messenger_links l join users u on u.tenant_id = l.tenant_id and u.id = l.user_id
      where l.tenant_id = any(${[...new Set(column('tenant_id'))]}::bigint[])
        and u.role in ('admin', 'superadmin')
    ), pairs as (
      select e.id, e.action, e.created_at, l.id as link_id, true as is_own
      from e join messenger_links l on l.tenant_id = e.tenant_id and l.user_id = e.subject
        and l.linked_at <= e.created_at
      where split_part(e.action, '.', 1) in ('user', 'auth')
      union all
      select e.id, e.action, e.created_at, a.id, false
      from e join administrators a on a.tenant_id = e.tenant_id and a.linked_at <= e.created_at
      where e.subject is distinct from a.user_id
        or split_part(e.action, '.', 1) not in ('user', 'auth')
    )
    select p.id as entry_id, p.created_at as event_at, p.action, l.tenant_id, p.link_id,
      l.chat_hash, p.is_own
    from pairs p join messenger_links l on l.id = p.link_id
      join users u on u.tenant_id = l.tenant_id and u.id = l.user_id
      join tenants t on t.id = l.tenant_id
      left join messenger_subscriptions s on s.tenant_id = l.tenant_id and s.user_id = l.user_id
    where ${isSubscribed(sql`p.action`, sql`p.is_own`)}
    order by p.id`.execute(tx.db)
  return rows
}

/** Makes the chats due as soon as they may get a digest. The chats stay locked until the transaction ends. */
export async function makeChatsDue(
  tx: TenantTx,
  hashes: readonly Buffer[],
  now: string,
): Promise<void> {
  // Locks chats in ascending order of their hashes, as all other transactions do.
  const ordered = [...hashes].sort(Buffer.compare)
  await sql`
    insert into messenger_chats as c (hash, due_at)
    select hash, ${now}::timestamptz from unnest(${ordered}::bytea[]) as h(hash)
    on conflict (hash) do update set
      due_at = least(c.due_at, greatest(c.free_at, c.digest_at, excluded.due_at))`.execute(tx.db)
}

/** Queues notices of the events. Omits chats that were unlinked in the meantime. */
export async function insertNotices(
  tx: TenantTx,
  pairs: readonly Pair[],
  now: string,
): Promise<void> {
  const column = <K extends keyof Pair>(key: K) => pairs.map((pair) => pair[key])
  await sql`
    with linked as materialized (
      select id, tenant_id from messenger_links
      where id = any(${[...new Set(column('link_id'))]}::bigint[]) order by id for key share
    )
    insert into messenger_notices
      (tenant_id, link_id, entry_id, event_at, action, is_own, queued_at)
    select l.tenant_id, l.id, p.entry_id, p.event_at, p.action, p.is_own, ${now}::timestamptz
    from unnest(${column('link_id')}::bigint[], ${column('entry_id')}::bigint[],
      ${column('event_at')}::timestamptz[], ${column('action')}::text[],
      ${column('is_own')}::boolean[])
      with ordinality as p(link_id, entry_id, event_at, action, is_own, place)
      join linked l on l.id = p.link_id
    order by p.place`.execute(tx.db)
}

/** The queued notices of a link with the same action. `is_heard` is true if the user still gets such notices. */
export interface WaitingNotices {
  action: string
  is_own: boolean
  is_subscribed: boolean
  /** True if the notices are too old to be sent one by one, so that the message contains only their number. */
  is_late: boolean
  count: number
  last_id: number
  first_queued_at: string
}

/** Counts the waiting notices of the link by action, including notices that are too old to be sent. */
export async function countWaitingNotices(
  tx: TenantTx,
  link: { id: number; tenant_id: number },
  since: { late: string; dropped: string },
): Promise<WaitingNotices[]> {
  const { rows } = await sql<WaitingNotices>`
    with n as (
      select action, is_own, event_at < ${since.late}::timestamptz as is_late,
        event_at >= ${since.dropped}::timestamptz as is_kept,
        count(*) as count, max(id) as last_id, min(queued_at) as first_queued_at
      from messenger_notices where tenant_id = ${link.tenant_id} and link_id = ${link.id}
      group by 1, 2, 3, 4
    )
    select n.action, n.is_own, n.is_late, n.count, n.last_id, n.first_queued_at,
      n.is_kept and ${isSubscribed(sql`n.action`, sql`n.is_own`)} as is_subscribed
    from n join messenger_links l on l.id = ${link.id}
      join users u on u.tenant_id = l.tenant_id and u.id = l.user_id
      join tenants t on t.id = l.tenant_id
      left join messenger_subscriptions s on s.tenant_id = l.tenant_id and s.user_id = l.user_id`.execute(
    tx.db,
  )
  return rows
}

export interface WaitingEntry {
  action: string
  is_own: boolean
  created_at: string
  /** Null if the event's entry is no longer in the journal. */
  resource_type: string | null
  resource_id: string | null
  user_id: number | null
  changes: unknown
}

/** Returns the first queued notices of actions that the user still gets. The message has a line for each notice. */
export async function firstWaiting(
  tx: TenantTx,
  link: { id: number; tenant_id: number },
  subscribed: readonly Pick<WaitingNotices, 'action' | 'is_own'>[],
  bounds: { lastId: number; late: string; limit: number },
): Promise<WaitingEntry[]> {
  const { rows } = await sql<WaitingEntry>`
    select n.action, n.is_own, n.event_at as created_at, j.resource_type, j.resource_id, j.user_id,
      j.changes
    from (
      select n.id, n.action, n.is_own, n.entry_id, n.event_at
      from messenger_notices n
      where n.tenant_id = ${link.tenant_id} and n.link_id = ${link.id}
        and n.id <= ${bounds.lastId} and n.event_at >= ${bounds.late}::timestamptz
        and (n.action, n.is_own) in (select * from unnest(
          ${subscribed.map(({ action }) => action)}::text[], ${subscribed.map(({ is_own }) => is_own)}::boolean[]))
      order by n.id limit ${bounds.limit}
    ) n left join journal j on j.id = n.entry_id and j.created_at = n.event_at
    order by n.id`.execute(tx.db)
  return rows
}

/** Returns the names and tenants of these users, by id. */
export async function findPeople(
  tx: TenantTx,
  ids: readonly number[],
): Promise<Map<number, { name: string; tenant_id: number }>> {
  if (ids.length === 0) return new Map()
  const rows = await tx.db
    .selectFrom('users')
    .select(['id', 'full_name as name', 'tenant_id'])
    .where('id', '=', sql<number>`any(${[...ids]}::bigint[])`)
    .execute()
  return new Map(rows.map(({ id, ...person }) => [id, person]))
}

export async function deleteWaiting(
  tx: TenantTx,
  link: { id: number; tenant_id: number },
  lastId: number,
): Promise<void> {
  await tx.db
    .deleteFrom('messenger_notices')
    .where('tenant_id', '=', link.tenant_id)
    .where('link_id', '=', link.id)
    .where('id', '<=', lastId)
    .execute()
}
