/** The status of an account (decisions §2). Only this module defines how the columns determine the status. */
import { sql } from 'kysely'

export const USER_STATUSES = ['active', 'blocked', 'pending'] as const
type Status = (typeof USER_STATUSES)[number]

/** The column values of each status. */
export const STANDS: Readonly<Record<Status, { is_active: boolean; is_pending?: boolean }>> = {
  active: { is_active: true },
  blocked: { is_active: false, is_pending: false },
  pending: { is_active: false, is_pending: true },
}

/** The SQL expression for the status of a user. An active user is never pending, even if `is_pending` is true. */
export const STATUS = sql<Status>`case when users.is_active then 'active'
  when users.is_pending then 'pending' else 'blocked' end`.as('status')
