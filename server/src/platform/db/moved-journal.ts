/**
 * Renumbers the journal when its database has come from another cluster. Entries and the positions
 * of their consumers hold numbers of transactions, which each cluster counts for itself: below a
 * counter that stands lower, old entries stay invisible, and new ones lie behind the consumers.
 */
import type pg from 'pg'
import type { Logger } from '../observe/log.ts'
import { PLATFORM_ROLE } from './connection.ts'

/**
 * Looks whether the journal or a consumer's position holds a number that this cluster has not given
 * out yet, and if so gives all of them low numbers, so that every consumer goes on where it stood.
 * For the owner of the tables, before anybody reads, and by one node at a time.
 *
 * Where this cluster's counter is beyond all of the numbers there is nothing to do: what is written
 * from now on comes after them.
 */
export async function renumberMovedJournal(client: pg.Client, log: Logger): Promise<void> {
  if (!(await isMoved(client))) return
  log.warn(
    {},
    'the database has come from another cluster: renumbering the journal, at some seconds a million entries',
  )
  await client.query('begin')
  await renumber(client)
  await client.query('commit')
  log.info({}, 'the journal is renumbered: its consumers go on where they stood')
}

/**
 * As `renumberMovedJournal`, of rows that the caller's transaction has just loaded: a table without indexes
 * is written anew in half the time. It looks at the consumers alone, who are as far as the entries or nearly
 * so: where these have come further by themselves, that shows at the next start.
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
  // In the role that sees all rows: what an owner sees depends on how its memberships were granted.
  await client.query(`begin read only; set local role ${PLATFORM_ROLE}`)
  // Only the order finds the index in all circumstances; one snapshot, so that no entry which a
  // transaction of this cluster has just committed is taken for a foreign one.
  const { rows } = await client.query<{ moved: boolean | null }>(
    `select greatest(
       (select xid from journal where not is_access order by xid desc, id desc limit 1),
       (select xid from journal_consumers order by xid desc limit 1)
     ) >= pg_snapshot_xmax(pg_current_snapshot()) as moved`,
  )
  await client.query('commit')
  return rows[0]?.moved === true
}

/**
 * All entries up to the first position get the lowest number, those up to the next position the
 * next one, and so on; a consumer then stands between two numbers. Within a number the ids order the
 * entries: their order too puts what caused something before it. No cluster gives a transaction a
 * number as low as these.
 *
 * The table is written anew as a whole: four times quicker than updates, without their dead rows,
 * and the triggers that refuse any change of an entry stay in force throughout.
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
