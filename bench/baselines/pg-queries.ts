/** The baseline of lists: the page's statements with `pg` alone, from a pool as large as the service's. */
import pg from 'pg'
import { answer, keepBusy } from './answer.ts'

interface Question {
  database: pg.ClientConfig
  poolSize: number
  /** With a name, the statement is planned once per connection. */
  page: { name?: string; text: string; values: unknown[] }
  /** The estimate to run if the count of the page reaches its maximum. A lower count is exact. */
  estimate?: { text: string; values: unknown[] }
  bound: number
  atOnce: number
  seconds: number
}

let pool: pg.Pool | undefined

answer(({ database, poolSize, page, estimate, bound, atOnce, seconds }: Question) => {
  pool ??= new pg.Pool({ ...database, max: poolSize })
  const connected = pool
  return keepBusy(atOnce, seconds, async () => {
    const { rows } = await connected.query(page)
    if (estimate && Number(rows[0].wk_total) > bound) await connected.query(estimate)
  })
})
