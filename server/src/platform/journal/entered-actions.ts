/** Which actions the journal may hold, by the word of every node that writes to it. */
import { sql } from 'kysely'
import type { Scopes } from '../db/index.ts'
import { ACTIONS } from './actions.ts'

/**
 * Enters the actions of this release, before the first entry with any of them: an older node beside
 * it then finds them as well.
 */
export async function enterActions(db: Scopes): Promise<void> {
  await db.acrossTenants(async (tx) => {
    tx.send(
      sql`insert into journal_actions select unnest(${Object.keys(ACTIONS)}::text[])
        on conflict do nothing`.compile(tx.db),
    )
  })
}
