/** Whose webhooks are sent for. */
import { sql } from 'kysely'

/** For so long after its tenant was deleted a webhook is still served: it gets the event of that. */
const GRACE_SECONDS = 60 * 60

/** Whether the tenant `t` is served: by the database's clock, which dates its deletion. */
export const isServed = sql<boolean>`(t.is_active
  and coalesce(t.deleted_at > now() - make_interval(secs => ${GRACE_SECONDS}), true))`
