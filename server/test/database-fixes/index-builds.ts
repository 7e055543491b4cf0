/** Index builds that wait for as long as a test needs. */
import { ownerClient } from '../../src/platform/db/connection.ts'
import { atTheEnd } from '../support/cleanup.ts'
import type { Bench } from './scene.ts'

/**
 * Opens a connection with an open transaction. At its end, every concurrent index build waits for that transaction's
 * snapshot.
 */
export async function openTransaction(
  { database }: Bench,
  text = 'begin isolation level repeatable read; select from journal limit 1',
): Promise<{ end(): Promise<void> }> {
  const client = ownerClient(database.address)
  await client.connect()
  const end = async () => void (await client.query('commit').finally(() => client.end()))
  let ended: Promise<void> | undefined
  const once = () => {
    ended ??= end()
    return ended
  }
  atTheEnd(once)
  await client.query(text)
  return { end: once }
}

/** Returns the process whose build waits for a transaction to end. */
export async function waitingBuild({ database }: Bench): Promise<number> {
  for (;;) {
    const [build] = await database.sql<{ pid: number }>(`
      select pid from pg_stat_activity join pg_stat_progress_create_index using (pid)
      where wait_event = 'virtualxid' and pg_stat_activity.datname = current_database()`)
    if (build) return build.pid
  }
}
