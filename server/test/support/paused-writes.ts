/** Stops a process of the service at a write, while the test changes something else. */
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { OF_THIS_DATABASE, type TestDatabase } from './database.ts'
import { until } from './until.ts'

const LOCK = 77

export interface Step {
  table: string
  /** `insert` by default. */
  event?: 'insert' | 'update' | 'delete'
  /** Stops before the row is written, so that it is never committed, or during the commit. */
  moment: 'before' | 'behind'
  /** A condition on `new` and `old`; any row by default. */
  when?: string
}

export interface HeldUp {
  /** Resolves once a transaction is stopped. */
  met(): Promise<void>
  /** Releases the block for good. Waits for the end of the stopped transactions. */
  letGo(): Promise<void>
}

/** Stops every transaction that reaches this step. */
export async function holdUp(database: TestDatabase, step: Step): Promise<HeldUp> {
  const { table, event = 'insert', moment, when = 'true' } = step
  const client = new pg.Client(database.url)
  client.on('error', () => undefined)
  const letGo = () => client.end().catch(() => undefined)
  onTestFinished(letGo)
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
    async letGo() {
      await letGo()
      await database.sql(`drop trigger hold_up on ${table}`)
    },
  }
}
