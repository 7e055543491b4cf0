/** The SQL condition for tenants whose webhooks receive messages. */
import { sql } from 'kysely'

/**
 * How long the webhooks of a deleted tenant still receive messages, in seconds. In this time they receive the event of
 * the deletion.
 */
const GRACE_SECONDS = 60 * 60

/** True if webhooks of the tenant `t` receive messages. Uses the database's clock, which also sets `deleted_at`. */
export const isServed = sql<boolean>`(t.is_active
  and coalesce(t.deleted_at > now() - make_interval(secs => ${GRACE_SECONDS}), true))`
