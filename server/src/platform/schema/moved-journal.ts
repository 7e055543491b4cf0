/**
 * Renumbers the journal if its database came from another cluster. Entries and consumer positions contain transaction
 * ids, which each cluster counts separately. On a cluster with a lower counter, consumers would not see the old
 * entries. They would skip new entries, because the ids of those are below the consumers' positions.
 */
import type pg from 'pg'
import { PLATFORM_ROLE } from '../db/connection.ts'
import type { Logger } from '../observe/log.ts'

/**
 * Checks whether the journal or a consumer's position contains a transaction id that this cluster has not assigned yet.
 * If so, replaces all ids with low numbers, so that every consumer continues where it stopped. The caller must be the
 * owner of the tables and hold the migration lock. No consumer may read yet.
 *
 * Changes nothing if this cluster's counter is higher than all ids, because new entries then get higher ids.
 */
export async function renumberMovedJournal(client: pg.Client, log: Logger): Promise<void> {
  if (!(await isMoved(client))) return
  log.warn(
    {},
    'database was moved from another cluster; renumbering the journal, which takes some seconds per million entries',
  )
  await client.query('begin')
  await renumber(client)
  await client.query('commit')
  log.info({}, 'journal renumbered; its consumers continue where they stopped')
}

/**
 * Like `renumberMovedJournal`, for rows that the caller's transaction has just loaded. The caller should create the
 * indexes afterwards, which halves the time. Checks only the positions of the consumers, which are about as high as the
 * ids of the entries. If only an entry has a higher id, the next startup renumbers the journal.
 */
export async function renumberLoadedJournal(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ moved: boolean | null }>(
    `select (select xid from journal_consumers order by xid desc limit 1)
       >= pg_snapshot_xmax(pg_current_snapshot()) as moved`,
  )
  if (rows[0]?.moved) await renumber(client)
}

async function isMoved(client: pg.Client): Promise<boolean> {
  const present = await client.query<{ present: boolean }>(
    `select to_regclass('public.journal_consumers') is not null as present`,
  )
  if (!present.rows[0]?.present) return false
  // Uses the role that sees all rows. Which rows the owner sees depends on how its memberships were granted.
  await client.query(`begin read only; set local role ${PLATFORM_ROLE}`)
  // Uses `order by … limit 1`, because only this form uses the index in all cases. Uses a single snapshot, so that an
  // entry that this cluster has just committed is not mistaken for a moved entry.
  const { rows } = await client.query<{ moved: boolean | null }>(
    `select greatest(
       (select xid from journal where not is_access order by xid desc, id desc limit 1),
       (select xid from journal where is_access order by xid desc, id desc limit 1),
       (select xid from journal_consumers order by xid desc limit 1)
     ) >= pg_snapshot_xmax(pg_current_snapshot()) as moved`,
  )
  await client.query('commit')
  return rows[0]?.moved === true
}

/**
 * Assigns the lowest number to all entries up to the first consumer's position, the next number to those up to the next
 * position, and so on. Each consumer's position is then between two numbers. Entries with the same number are ordered
 * by id, so that an entry follows its cause. No cluster assigns such low transaction ids itself.
 *
 * Rewrites the whole table, which is four times faster than updates and leaves no dead rows. The triggers that refuse
 * changes to entries remain enabled.
 */
async function renumber(client: pg.Client): Promise<void> {
  await client.query('lock table journal_consumers, journal in access exclusive mode')
  const { rows: positions } = await client.query<{ xid: string; id: string }>(
    `select xid::text, id::text from (
       select xid, id from journal_consumers union select '0', 0) as positions
     order by positions.xid, positions.id`,
  )
  const numbered = (lowest: number) => {
    const cases = positions.map(
      ({ xid, id }, index) =>
        `when (xid, id) <= ('${xid}'::xid8, ${id}) then '${lowest + index}'::xid8`,
    )
    return `case ${cases.join(' ')} else '${lowest + positions.length}'::xid8 end`
  }
  await client.query(`alter table journal alter column xid type xid8 using (${numbered(1)})`)
  await client.query(`update journal_consumers set xid = ${numbered(2)}, id = 0`)
}
