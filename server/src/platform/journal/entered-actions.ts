/** Registers the actions that the journal may contain. Every node that writes to the journal does this. */
import { sql } from 'kysely'
import type { Scopes } from '../db/index.ts'
import { ACTIONS } from './actions.ts'

/** Registers the actions of this release before any entry uses them, so that older nodes of the cluster accept them. */
export async function enterActions(db: Scopes): Promise<void> {
  await db.acrossTenants(async (tx) => {
    tx.send(
      sql`insert into journal_actions select unnest(${Object.keys(ACTIONS)}::text[])
        on conflict do nothing`.compile(tx.db),
    )
  })
}
