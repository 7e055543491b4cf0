/** How an account stands (decisions §2): derived from its columns, here alone. */
import { sql } from 'kysely'

export const STATUSES = ['active', 'blocked', 'pending'] as const
type Status = (typeof STATUSES)[number]

/** The columns that make a status. */
export const STANDS: Readonly<Record<Status, { is_active: boolean; is_pending?: boolean }>> = {
  active: { is_active: true },
  blocked: { is_active: false, is_pending: false },
  pending: { is_active: false, is_pending: true },
}

/** The column of a statement on `users`. Whoever is let in waits no more, whatever `is_pending` says. */
export const STATUS = sql<Status>`case when users.is_active then 'active'
  when users.is_pending then 'pending' else 'blocked' end`.as('status')
