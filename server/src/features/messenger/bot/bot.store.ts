/** The SQL of the one bot: its lease, and how far its updates are read. Leases are by the database's clock. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { BotState } from '../messenger.table.ts'

/** Seconds that a lease holds unless it is renewed; so long a killed process keeps the bot silent. */
export const LEASE_SECONDS = 10

/**
 * Takes the bot over where nobody has it; how it does has to be found out anew. Returns the number of its
 * time, by which writes are fenced.
 */
export async function claim(tx: TenantTx, worker: string): Promise<number | undefined> {
  const { rows } = await sql<{ epoch: number }>`
    update messenger_bot set leased_by = ${worker}, epoch = epoch + 1, state = 'new',
      leased_until = now() + make_interval(secs => ${LEASE_SECONDS})
    where leased_until is null or leased_until <= now() returning epoch`.execute(tx.db)
  return rows[0]?.epoch
}

/** Returns whether the lease was still ours. */
export async function renew(tx: TenantTx, epoch: number): Promise<boolean> {
  const { rows } = await sql`
    update messenger_bot set leased_until = now() + make_interval(secs => ${LEASE_SECONDS})
    where epoch = ${epoch} and leased_until is not null returning epoch`.execute(tx.db)
  return rows.length > 0
}

/** Lets others have it at once; since when nobody does stays to be seen. */
export async function release(tx: TenantTx, epoch: number): Promise<void> {
  await tx.db
    .updateTable('messenger_bot')
    .set({ leased_by: null, leased_until: sql`now()` })
    .where('epoch', '=', epoch)
    .execute()
}

/** Whether the bot is still ours; if so, nobody takes it over before the transaction has ended. */
export async function isOurs(tx: TenantTx, epoch: number): Promise<boolean> {
  const row = await tx.db
    .selectFrom('messenger_bot')
    .select('epoch')
    .where('epoch', '=', epoch)
    .forShare()
    .executeTakeFirst()
  return row !== undefined
}

export interface BotStanding {
  state: BotState
  username: string | null
  is_held: boolean
}

export async function findStanding(tx: TenantTx): Promise<BotStanding> {
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

/** Notes how the bot does. Returns whether that is new. */
export async function saveState(tx: TenantTx, epoch: number, state: BotState): Promise<boolean> {
  const { rows } = await sql`
    update messenger_bot set state = ${state} where epoch = ${epoch} and state <> ${state}
    returning epoch`.execute(tx.db)
  return rows.length > 0
}

/** Notes which bot the token is; of another one nothing has been read yet. */
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

/** Days after which numbers of updates may begin anew, less one (Bot API, `Update`). */
const NUMBERS_HOLD_DAYS = 6

/** The first update that is not read yet; null to be given all that wait. */
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

/** Takes an update. Returns false where it was taken before. */
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
