/** Starts work concurrently and counts the results, or delays a command while its caller is signed out. */
import type pg from 'pg'
import { ownerConnection } from '../sessions/users.ts'
import type { Person } from '../support/clinics.ts'
import type { Answer, Service } from '../support/service.ts'
import { until } from '../support/until.ts'

export const AT_ONCE = 16

/** Starts all `count` pieces of work before any of them has ended. Returns their results. */
export function atOnce<T>(work: (index: number) => Promise<T>, count = AT_ONCE): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)))
}

/** Counts the responses by status: `{201: 1, 409: 15}`. */
export function tally(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Makes the command wait for a row while the test changes something else. Returns the command's response. */
export async function whileWaiting(
  service: Service,
  [table, id]: readonly [table: string, id: number],
  command: () => Promise<Answer>,
  change: (other: pg.Client) => Promise<unknown>,
): Promise<Answer> {
  const other = await ownerConnection(service)
  await other.query('begin')
  await other.query(`select from ${table} where id = $1 for update`, [id])
  const answering = command()
  const { rows } = await other.query('select pg_backend_pid() as pid')
  await until('the command to wait', async () => {
    const [row] = await service.database.sql(
      'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
      [rows[0].pid],
    )
    return row
  })
  await change(other)
  await other.query('commit')
  return answering
}

/**
 * Makes the command wait for a row. Blocks its caller in the meantime, without notifying any node. Returns the answer.
 */
export const signOutMeanwhile = (
  service: Service,
  { id }: Person,
  row: readonly [table: string, id: number],
  command: () => Promise<Answer>,
): Promise<Answer> =>
  whileWaiting(service, row, command, async (other) => {
    await other.query('update users set is_active = false where id = $1', [id])
    await other.query('update sessions set ended_at = now() where user_id = $1', [id])
  })
