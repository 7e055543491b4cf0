/** Self-healing scans in the running service, one right after the other. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

export interface Scans {
  /** Runs this many scans. Returns the seconds they took. */
  run(count: number): Promise<number>
  /** Runs scans repeatedly while `work` runs. The work starts together with the first scan. */
  beside<T>(work: () => Promise<T>): Promise<{ done: number; result: T }>
  close(): Promise<void>
}

const KIND = 'self-healing.scan'
/** More scans than any scenario waits for. */
const MANY = 10_000
const LOOK_MS = 100
const LIMIT_MS = 600_000

/** Enqueues jobs like the schedule. The worker starts the next job when the previous one is done. */
const ENQUEUE = `
  insert into pgboss.job (name, data, policy, retry_limit, expire_seconds, singleton_key)
  select name, '{}', policy, retry_limit, expire_seconds, 'bench ' || number
  from pgboss.queue, generate_series(1, $2::integer) number where name = $1`
const WAITING = `
  select count(*) filter (where state < 'active')::integer as waiting, count(*)::integer as there
  from pgboss.job where name = $1 and singleton_key like 'bench %'`
const WITHDRAW = `
  delete from pgboss.job where name = $1 and singleton_key like 'bench %' and state < 'active'`

export async function openScans(database: pg.ClientConfig): Promise<Scans> {
  const client = new pg.Client(database)
  await client.connect()

  const enqueue = (count: number) => client.query(ENQUEUE, [KIND, count])

  /** @throws Error when the condition is not met in time */
  async function until(is: (jobs: { waiting: number; there: number }) => boolean): Promise<void> {
    for (let waited = 0; waited < LIMIT_MS; waited += LOOK_MS) {
      const { rows } = await client.query(WAITING, [KIND])
      if (is(rows[0])) return
      await delay(LOOK_MS)
    }
    throw new Error('the service does not scan')
  }

  return {
    async run(count) {
      await enqueue(count)
      await until(({ waiting }) => waiting < count)
      const begun = performance.now()
      await until(({ there }) => there === 0)
      return (performance.now() - begun) / 1000
    },
    async beside(work) {
      await enqueue(MANY)
      await until(({ waiting }) => waiting < MANY)
      const result = await work()
      const { rowCount } = await client.query(WITHDRAW, [KIND])
      await until(({ there }) => there === 0)
      return { done: MANY - (rowCount ?? 0), result }
    },
    close: () => client.end(),
  }
}
