/** SQL of the bot's row: its lease and its position in the updates. Leases use the database's clock. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import { LEASE_SECONDS } from '../../../platform/lease/index.ts'
import type { BotState } from '../messenger.table.ts'

/**
 * Claims the bot's lease if no other process has it. Also claims a lease whose end is implausibly late, because the
 * database's clock was wrong when it was written. Returns the new epoch, with which writes prove that they belong to
 * this lease. Returns undefined if another process has the lease.
 */
export async function claimBotLease(tx: TenantTx, worker: string): Promise<number | undefined> {
  const { rows } = await sql<{ epoch: number }>`
    update messenger_bot set leased_by = ${worker}, epoch = epoch + 1, state = 'new',
      leased_until = now() + make_interval(secs => ${LEASE_SECONDS})
    where leased_until is null or leased_until <= now()
      or leased_until > now() + make_interval(secs => ${2 * LEASE_SECONDS}) returning epoch`.execute(
    tx.db,
  )
  return rows[0]?.epoch
}

/** Renews the lease. Returns false if this process no longer has the lease. */
export async function renewBotLease(tx: TenantTx, epoch: number): Promise<boolean> {
  const { rows } = await sql`
    update messenger_bot set leased_until = now() + make_interval(secs => ${LEASE_SECONDS})
    where epoch = ${epoch} and leased_until is not null returning epoch`.execute(tx.db)
  return rows.length > 0
}

/** Releases the lease, so that another process can claim it at once. `leased_until` becomes the time of the release. */
export async function releaseBotLease(tx: TenantTx, epoch: number): Promise<void> {
  await tx.db
    .updateTable('messenger_bot')
    .set({ leased_by: null, leased_until: sql`now()` })
    .where('epoch', '=', epoch)
    .execute()
}

/** Returns whether this process has the lease. If so, no other process can claim it before the transaction ends. */
export async function holdsBotLease(tx: TenantTx, epoch: number): Promise<boolean> {
  const row = await tx.db
    .selectFrom('messenger_bot')
    .select('epoch')
    .where('epoch', '=', epoch)
    .forShare()
    .executeTakeFirst()
  return row !== undefined
}

export interface BotStatus {
  state: BotState
  username: string | null
  is_held: boolean
}

export async function findBotStatus(tx: TenantTx): Promise<BotStatus> {
  return tx.db
    .selectFrom('messenger_bot')
    .select([
      'state',
      'username',
      sql<boolean>`coalesce(leased_until > now(), false)`.as('is_held'),
    ])
    .executeTakeFirstOrThrow()
}

export async function findBotId(tx: TenantTx): Promise<number | null> {
  const { bot_id } = await tx.db
    .selectFrom('messenger_bot')
    .select('bot_id')
    .executeTakeFirstOrThrow()
  return bot_id
}

/** Saves the state of the bot. Returns whether the state has changed. */
export async function saveState(tx: TenantTx, epoch: number, state: BotState): Promise<boolean> {
  const { rows } = await sql`
    update messenger_bot set state = ${state} where epoch = ${epoch} and state <> ${state}
    returning epoch`.execute(tx.db)
  return rows.length > 0
}

/** Saves the bot of the token. If the bot differs from the previous one, resets the position in the updates. */
export async function saveBot(
  tx: TenantTx,
  epoch: number,
  bot: { id: number; username: string | null },
): Promise<void> {
  await sql`
    update messenger_bot set bot_id = ${bot.id}, username = ${bot.username},
      next_update = case when bot_id = ${bot.id}::bigint then next_update end
    where epoch = ${epoch}`.execute(tx.db)
}

/** The days for which a stored position is valid. The provider may restart the numbers one day later (Bot API). */
const NUMBERS_HOLD_DAYS = 6

/** Returns the number of the first unread update, or null to request all waiting updates. */
export async function findOffset(tx: TenantTx): Promise<number | null> {
  const row = await tx.db
    .selectFrom('messenger_bot')
    .select('next_update')
    .where(sql<boolean>`read_at > now() - make_interval(days => ${NUMBERS_HOLD_DAYS})`)
    .executeTakeFirst()
  return row?.next_update ?? null
}

export async function saveOffset(tx: TenantTx, epoch: number, next: number): Promise<void> {
  await tx.db
    .updateTable('messenger_bot')
    .set({ next_update: next, read_at: sql`now()` })
    .where('epoch', '=', epoch)
    .execute()
}

/** Records that an update is handled. Returns false if the update was already recorded. */
export async function takeUpdate(
  tx: TenantTx,
  update: { bot_id: number; update_id: number },
): Promise<boolean> {
  const row = await tx.db
    .insertInto('messenger_updates')
    .values(update)
    .onConflict((conflict) => conflict.doNothing())
    .returning('update_id')
    .executeTakeFirst()
  return row !== undefined
}
