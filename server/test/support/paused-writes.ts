/** Blocks a transaction of the service at a write, so that the test can change other data during it. */
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { OF_THIS_DATABASE, type TestDatabase } from './database.ts'
import { until } from './until.ts'

const LOCK = 77

export interface Step {
  table: string
  /** `insert` by default. */
  event?: 'insert' | 'update' | 'delete'
  /** `before` blocks before the row is written. `behind` blocks during the commit, after the row is written. */
  moment: 'before' | 'behind'
  /** A condition on `new` and `old`. By default every row matches. */
  when?: string
}

export interface HeldUp {
  /** Resolves once a transaction is blocked. */
  met(): Promise<void>
  /** Removes the block permanently, and waits until the blocked transactions have ended. */
  release(): Promise<void>
}

/** Blocks every transaction that reaches this write. */
export async function holdUp(database: TestDatabase, step: Step): Promise<HeldUp> {
  const { table, event = 'insert', moment, when = 'true' } = step
  const client = new pg.Client(database.url)
  client.on('error', () => undefined)
  const release = () => client.end().catch(() => undefined)
  onTestFinished(release)
  await client.connect()
  await client.query(`select pg_advisory_lock(${LOCK})`)
  await database.sql(
    `create or replace function hold_up() returns trigger language plpgsql as $$
     begin perform pg_advisory_xact_lock(${LOCK}); return coalesce(new, old); end $$`,
  )
  await database.sql(
    moment === 'before'
      ? `create trigger hold_up before ${event} on ${table} for each row
         when (${when}) execute function hold_up()`
      : `create constraint trigger hold_up after ${event} on ${table} deferrable initially deferred
         for each row when (${when}) execute function hold_up()`,
  )
  return {
    async met() {
      await until('somebody is held up', async () => {
        const waiting = await database.sql(
          `select 1 from pg_locks where locktype = 'advisory' and objid = ${LOCK} and not granted
             and ${OF_THIS_DATABASE}`,
        )
        return waiting.length > 0 || undefined
      })
    },
    async release() {
      await release()
      await database.sql(`drop trigger hold_up on ${table}`)
    },
  }
}
