/** SQL for download tickets. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { OutdatedRows } from '../../../platform/feature/outdated.ts'
import type { DownloadTicketsTable } from './tickets.table.ts'

export type NewTicket = Omit<DownloadTicketsTable, 'used_at' | 'resumptions'>
export type Ticket = Pick<NewTicket, 'user_id' | 'session_id' | 'ip' | 'backup_id'>

export async function insertTicket(tx: TenantTx, ticket: NewTicket): Promise<void> {
  await tx.db.insertInto('download_tickets').values(ticket).execute()
}

/** Finds a ticket that has not expired, whether or not it was used. */
export function findTicket(tx: TenantTx, hash: Buffer, now: string): Promise<Ticket | undefined> {
  return tx.db
    .selectFrom('download_tickets')
    .select(['user_id', 'session_id', 'ip', 'backup_id'])
    .where('token_hash', '=', hash)
    .where('tenant_id', '=', tx.tenantId)
    .where('expires_at', '>', now)
    .executeTakeFirst()
}

/** Marks a ticket as used, and sets its new expiry. Only one of several concurrent callers gets true. */
export async function useTicket(
  tx: TenantTx,
  hash: Buffer,
  now: string,
  expires_at: string,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('download_tickets')
    .set({ used_at: now, expires_at })
    .where('token_hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Counts a continued download. Returns false for an unused or expired ticket, and after `most` continuations. */
export async function resumeTicket(
  tx: TenantTx,
  hash: Buffer,
  now: string,
  most: number,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('download_tickets')
    .set({ resumptions: sql`resumptions + 1` })
    .where('token_hash', '=', hash)
    .where('used_at', 'is not', null)
    .where('expires_at', '>', now)
    .where('resumptions', '<', most)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export const OUTDATED_TICKETS: OutdatedRows = {
  table: 'download_tickets',
  key: ['token_hash'],
  keptMs: 0,
  isBefore: (at) => sql`expires_at < ${at}::timestamptz`,
}
