/** Deletes old invalidations. A node that has not read them notices the deletion (decision 0037). */
import { sql } from 'kysely'
import { MINUTE } from '../../lib/clock.ts'
import type { Upkeep } from '../lifecycle/upkeep.ts'
import { DELETED } from './invalidations.ts'
import type { Scopes } from './scope.ts'

/** A snapshot, and the transaction that took it and inserted a row without topics (the mark). */
interface Mark {
  xid: string
  snapshot: string
}

/**
 * Deletes the rows visible to the earlier mark's snapshot (not by age, because a transaction may commit rows long after
 * writing them), and inserts the next mark. Changes the topic of the earlier mark to `unread`, so that nodes whose last
 * snapshot does not see the mark notice the deletion. Deletes nothing if the mark is missing, because another node has
 * deleted it or a crash lost the table. Also deletes rows with transaction ids that this cluster has not assigned yet
 * (copied from another cluster).
 */
export async function deleteOldTopics(db: Scopes, mark: Mark | undefined): Promise<Mark> {
  const { xid = null, snapshot = null } = mark ?? {}
  return db.acrossTenants(async (tx) => {
    const { rows } = await sql<Mark>`
      with marked as (
        update invalidations set topics = ${DELETED} where xid = ${xid}::xid8 and topics = '' returning xid),
      deleted as (
        delete from invalidations using (
          select ctid from invalidations
          where xid >= pg_snapshot_xmax(pg_current_snapshot())
            or (exists (select from marked) and pg_visible_in_snapshot(xid, ${snapshot}::pg_snapshot))
          -- Another node may be deleting them, and waits for the mark of this one.
          for update skip locked) as old
        where invalidations.ctid = old.ctid)
      insert into invalidations (topics) values ('')
      returning xid::text, pg_current_snapshot()::text as snapshot`.execute(tx.db)
    return rows[0] as Mark
  })
}

/** Deletes the rows that were committed at least a minute ago. Runs every minute on every node. */
export function invalidationsUpkeep(db: Scopes): Upkeep {
  let mark: Mark | undefined
  return {
    what: 'deletion of old invalidations',
    everyMs: MINUTE,
    isNeededToServe: false,
    async run() {
      mark = await deleteOldTopics(db, mark)
    },
  }
}
