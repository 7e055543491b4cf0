/** The lanes' SQL for the processes that send: claim, renew, let go. Leases are by the database's clock. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

/** Seconds that a claim holds unless it is renewed; so long a killed process holds its lanes up. */
export const LEASE_SECONDS = 10

export interface ClaimedLane {
  webhook_id: number
  tenant_id: number
  epoch: number
  failures: number
  failure_share: number
  failing_since: string | null
  failed_at: string | null
  slots: number
  paused_until: string | null
  url: string
  /** The living secrets, the current one first. */
  secrets: { id: string; sealed_secret: Buffer; expires_at: string | null }[]
}

/** Candidates that are looked at for one claim: far more than one tenant has webhooks. */
const LOOKED_AT = 1000
/** For so long after its tenant was deleted a webhook is still served: it is to hear of that. */
const FAREWELL_SECONDS = 60 * 60

/**
 * Claims up to `limit` lanes with due deliveries, of active webhooks of active tenants: those first whose tenant has the fewest lanes at
 * work already, then those that wait longest. A lane that another process is just claiming is
 * skipped, so any number of processes claim side by side.
 */
export async function claimLanes(
  tx: TenantTx,
  claim: { worker: string; limit: number; now: string },
): Promise<ClaimedLane[]> {
  const { rows } = await sql<Omit<ClaimedLane, 'secrets'>>`
    with due as (
      select l.webhook_id, l.tenant_id, l.due_at
      from webhook_lanes l join webhooks w on w.id = l.webhook_id and w.is_active
        join tenants t on t.id = l.tenant_id and t.is_active
          and coalesce(t.deleted_at > now() - make_interval(secs => ${FAREWELL_SECONDS}), true)
      where l.due_at <= ${claim.now}::timestamptz
        and (l.leased_until is null or l.leased_until < now())
        and (l.paused_until is null or l.paused_until <= ${claim.now}::timestamptz)
      order by l.due_at limit ${LOOKED_AT}
    ), busy as (
      select tenant_id, count(*) as lanes from webhook_lanes
      where due_at is not null and leased_until >= now() group by tenant_id
    ), turns as (
      select d.webhook_id, d.due_at, coalesce(b.lanes, 0)
        + row_number() over (partition by d.tenant_id order by d.due_at) as turn
      from due d left join busy b using (tenant_id)
    ), chosen as (
      select l.webhook_id from webhook_lanes l join turns using (webhook_id)
      where l.leased_until is null or l.leased_until < now()
      order by turns.turn, turns.due_at limit ${claim.limit}
      for update of l skip locked
    )
    update webhook_lanes l
    set leased_by = ${claim.worker}, epoch = l.epoch + 1,
      leased_until = now() + make_interval(secs => ${LEASE_SECONDS})
    from chosen c, webhooks w
    where l.webhook_id = c.webhook_id and w.id = l.webhook_id
    returning l.webhook_id, l.tenant_id, l.epoch, l.failures, l.failure_share, l.failing_since,
      l.failed_at, l.slots, l.paused_until, w.url`.execute(tx.db)
  if (rows.length === 0) return []
  const secrets = await tx.db
    .selectFrom('webhook_secrets')
    .select(['webhook_id', 'id', 'sealed_secret', 'expires_at'])
    .where(
      'webhook_id',
      '=',
      sql<number>`any(${rows.map(({ webhook_id }) => webhook_id)}::bigint[])`,
    )
    .where((or) => or.or([or('expires_at', 'is', null), or('expires_at', '>', claim.now)]))
    .orderBy(sql`expires_at desc nulls first`)
    .execute()
  return rows.map((lane) => ({
    ...lane,
    secrets: secrets.filter(({ webhook_id }) => webhook_id === lane.webhook_id),
  }))
}

/**
 * Takes the lanes of inactive webhooks off the list: new events put them there, and claims would look
 * at them first each time. The webhook is locked as well, so that its activation is not overlooked.
 */
export async function shelveInactive(tx: TenantTx, now: string): Promise<void> {
  await sql`
    with shelved as (
      select l.webhook_id from webhook_lanes l join webhooks w on w.id = l.webhook_id
      where l.due_at <= ${now}::timestamptz and not w.is_active
      order by l.webhook_id limit ${LOOKED_AT} for update of l, w skip locked
    )
    update webhook_lanes l set due_at = null from shelved s
    where l.webhook_id = s.webhook_id`.execute(tx.db)
}

/**
 * Renews leases. Answers of each lane whether that was done, and whether it is another's by now. One
 * that is locked is neither: it must not hold up all the others.
 */
export async function renewLeases(
  tx: TenantTx,
  lanes: readonly { id: number; epoch: number }[],
): Promise<{ id: number; isRenewed: boolean; isLost: boolean }[]> {
  const { rows } = await sql<{ id: number; isRenewed: boolean; isLost: boolean }>`
    with mine as materialized (
      select * from unnest(${lanes.map(({ id }) => id)}::bigint[],
        ${lanes.map(({ epoch }) => epoch)}::bigint[]) as mine(webhook_id, epoch)
    ), held as materialized (
      select l.webhook_id from webhook_lanes l join mine using (webhook_id, epoch)
      order by l.webhook_id for no key update of l skip locked
    ), renewed as (
      update webhook_lanes l set leased_until = now() + make_interval(secs => ${LEASE_SECONDS})
      from held where l.webhook_id = held.webhook_id
      returning l.webhook_id
    )
    select mine.webhook_id as id, renewed.webhook_id is not null as "isRenewed",
      l.webhook_id is null as "isLost"
    from mine left join renewed using (webhook_id)
      left join webhook_lanes l on l.webhook_id = mine.webhook_id and l.epoch = mine.epoch`.execute(
    tx.db,
  )
  return rows
}

/** How a lane's receiver does, as it is kept. */
export interface LaneState {
  id: number
  epoch: number
  failures: number
  failure_share: number
  failing_since: string | null
  failed_at: string | null
  slots: number
  paused_until: string | null
}

/** The columns of `unnest`ed lane states, as `given`. */
function given(lanes: readonly LaneState[]) {
  const column = <K extends keyof LaneState>(key: K) => lanes.map((lane) => lane[key])
  return sql`unnest(${column('id')}::bigint[], ${column('epoch')}::bigint[],
    ${column('failures')}::integer[], ${column('failure_share')}::float8[],
    ${column('failing_since')}::timestamptz[],
    ${column('failed_at')}::timestamptz[], ${column('slots')}::integer[],
    ${column('paused_until')}::timestamptz[])
    as given(webhook_id, epoch, failures, failure_share, failing_since, failed_at, slots, paused_until)`
}

/**
 * Locks lanes, in one order for everybody. Answers those that it could lock: one that somebody else
 * has locked for long must not hold up all the others.
 */
async function lock(tx: TenantTx, lanes: readonly LaneState[]): Promise<LaneState[]> {
  const { rows } = await sql<{ id: number }>`
    select webhook_id as id from webhook_lanes
    where webhook_id = any(${lanes.map(({ id }) => id)}::bigint[])
    order by webhook_id for update skip locked`.execute(tx.db)
  const locked = new Set(rows.map(({ id }) => id))
  return lanes.filter(({ id }) => locked.has(id))
}

/** How the receiver does, written into a lane that is still held. */
const state = sql`failures = given.failures, failure_share = given.failure_share,
  failing_since = given.failing_since,
  failed_at = given.failed_at, slots = given.slots, paused_until = given.paused_until`

/** Writes down how the receivers of held lanes do; of those that are locked it is known at their release. */
export async function saveLanes(tx: TenantTx, lanes: readonly LaneState[]): Promise<void> {
  const locked = await lock(tx, lanes)
  tx.send(
    sql`update webhook_lanes l set ${state} from ${given(locked)}
      where l.webhook_id = given.webhook_id and l.epoch = given.epoch`.compile(tx.db),
  )
}

/**
 * Lets go of lanes, each due when its earliest delivery is. The lock comes first, in a statement of
 * its own: a fan-out that is adding deliveries has it until its commit, and what is read behind it
 * sees them. In one statement they could be missed, and would wait for the next event.
 *
 * @returns the webhooks of lanes that are let go of, or gone with their webhook; of the others the
 *   lock is somebody else's now
 */
export async function releaseLanes(tx: TenantTx, lanes: readonly LaneState[]): Promise<number[]> {
  const locked = await lock(tx, lanes)
  tx.send(
    sql`update webhook_lanes l set leased_by = null, leased_until = null, ${state},
        due_at = (select min(d.due_at) from webhook_deliveries d
          where d.webhook_id = l.webhook_id and d.status = 'pending')
      from ${given(locked)}
      where l.webhook_id = given.webhook_id and l.epoch = given.epoch`.compile(tx.db),
  )
  // One that was started afresh meanwhile has waited for what was under way.
  tx.send(
    sql`update webhook_lanes l set leased_until = null from ${given(locked)}
      where l.webhook_id = given.webhook_id and l.epoch = given.epoch + 1 and l.leased_by is null`.compile(
      tx.db,
    ),
  )
  const ids = lanes.map(({ id }) => id)
  const ours = new Set(locked.map(({ id }) => id))
  const others = ids.filter((id) => !ours.has(id))
  const theirs = others.length > 0 ? await listLanes(tx, others) : new Set()
  return ids.filter((id) => !theirs.has(id))
}

/** Which of these webhooks have a lane: one that is deleted takes its lane with it. */
async function listLanes(tx: TenantTx, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select webhook_id as id from webhook_lanes where webhook_id = any(${ids}::bigint[])`.execute(
    tx.db,
  )
  return new Set(rows.map(({ id }) => id))
}
