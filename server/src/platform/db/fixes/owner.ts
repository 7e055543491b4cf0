/**
 * The owner's door: what only the owner of the tables may do, over a connection of its own. What goes
 * through it is read from the committed schema, or made by the server out of its own catalogues.
 */
import type { Connection } from '../connection.ts'
import { LOCKS } from '../lock-numbers.ts'
import type { Ask } from './schema.ts'

export interface Owner {
  /** Runs it in a transaction, while no node migrates. */
  inTransaction<T>(work: (ask: Ask) => Promise<T>): Promise<T>
  /** Runs it without one, as what is done concurrently needs. */
  withoutTransaction<T>(work: (ask: Ask) => Promise<T>): Promise<T>
}

/** Others wait behind whoever waits for a lock on a table. */
export const LOCK_TIMEOUT = `set lock_timeout = '2s'`

export function ownersDoor(openConnection: () => Connection): Owner {
  /** @throws when another repair is at work, on whatever node */
  async function withoutTransaction<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    const client = openConnection()
    await client.connect()
    try {
      await client.query(`set search_path = public; set statement_timeout = '60s'; ${LOCK_TIMEOUT}`)
      // Not waited for: whoever waits has a snapshot, which an index that is built concurrently waits for.
      const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [
        LOCKS.schemaRepair,
      ])
      if (!rows[0].taken) throw new Error('another repair of the database is at work: try again')
      return await work(async (text, values) => {
        // Without values a text may hold several statements, which then are one transaction.
        const result = values ? await client.query(text, [...values]) : await client.query(text)
        return result.rows
      })
    } finally {
      await client.end()
    }
  }

  return {
    withoutTransaction,
    inTransaction: (work) =>
      withoutTransaction(async (ask) => {
        await ask('begin')
        await ask('select pg_advisory_xact_lock($1)', [LOCKS.migrations])
        const value = await work(ask)
        await ask('commit')
        return value
      }),
  }
}
