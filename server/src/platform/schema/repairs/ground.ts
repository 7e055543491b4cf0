/** The shared parts of the database fixes: the expected schema, and transactions as the owner of the tables. */

import { CompiledQuery } from 'kysely'
import type { PgConnection } from '../../db/connection.ts'
import { LOCKS } from '../../db/lock-numbers.ts'
import type { TenantTx } from '../../db/transaction.ts'
import type { Detected, Fix } from '../../feature/fix.ts'
import { readMigrations } from '../migrate.ts'
import { type AskSchema, readCommitted, type Schema } from './schema.ts'

/** The texts that describe a fix. */
export type Words = Omit<Fix, 'detect' | 'recheck' | 'repair' | 'automatic'>

export const RUNBOOK = 'schema-drift.md'

export interface GroundDeps {
  /** Opens a connection as the owner of the tables. */
  openConnection(): PgConnection
}

export interface Ground extends Owner {
  /**
   * Returns the schema that this release expects. Returns undefined if the database has another schema version, for
   * example because a newer node has migrated it. Sets the search path to `public` for the rest of the transaction.
   */
  committed(ask: AskSchema): Promise<Schema | undefined>
}

interface Owner {
  /** Runs `work` in a transaction while no node migrates. @throws Error if another repair is running on any node */
  inTransaction<T>(work: (ask: AskSchema) => Promise<T>): Promise<T>
  /**
   * Runs `work` outside a transaction, for concurrent index builds.
   * @throws Error if another repair is running on any node
   */
  withoutTransaction<T>(work: (ask: AskSchema) => Promise<T>): Promise<T>
}

interface Release {
  schema: Schema
  version: number
}

/**
 * Returns the shared parts.
 * @param read returns the expected schema and its version, by default from the release's files
 */
export function openGround({ openConnection }: GroundDeps, read = readRelease): Ground {
  let release: Promise<Release> | undefined
  return {
    ...ownerOf(openConnection),
    async committed(ask) {
      // Does not cache a failure, for example because of too many open files. The next read may succeed.
      release ??= read().catch((error) => {
        release = undefined
        throw error
      })
      const { schema, version } = await release
      await ask(`select set_config('search_path', 'public', true)`)
      return (await versionOf(ask)) === version ? schema : undefined
    },
  }
}

async function readRelease(): Promise<Release> {
  const [schema, migrations] = await Promise.all([readCommitted(), readMigrations()])
  return { schema, version: migrations.at(-1)?.version ?? 0 }
}

async function versionOf(ask: AskSchema): Promise<number | undefined> {
  const [newest] = await ask<{ version: number }>('select max(version) as version from migrations')
  return newest?.version
}

/** Returns the schema of this release. @throws Error if the database has a different schema version */
export async function requireCommitted(ground: Ground, ask: AskSchema): Promise<Schema> {
  const committed = await ground.committed(ask)
  if (!committed) throw new Error('the database has the schema of a different release')
  return committed
}

/**
 * Returns a `detect` function that compares the database with the schema of this release. Reports nothing if the
 * database has a different schema version.
 */
export const againstRelease =
  (
    ground: Ground,
    detect: (ask: AskSchema, committed: Schema) => Promise<Detected>,
  ): Fix['detect'] =>
  async (tx) => {
    const ask = askIn(tx)
    const committed = await ground.committed(ask)
    return committed ? detect(ask, committed) : { findings: [], looked_at: 0 }
  }

/** Returns a function that runs queries in the transaction. */
export const askIn =
  (tx: TenantTx): AskSchema =>
  async <R>(text: string, values: readonly unknown[] = []) =>
    (await tx.db.executeQuery<R>(CompiledQuery.raw(text, [...values]))).rows

/**
 * The time limits of a repair. The lock timeout is short, because other sessions have to wait behind a waiting repair.
 */
export const DEFAULT_LIMITS = `set lock_timeout = '2s'; set statement_timeout = '60s'`

function ownerOf(openConnection: () => PgConnection): Owner {
  async function withoutTransaction<T>(work: (ask: AskSchema) => Promise<T>): Promise<T> {
    const client = openConnection()
    await client.connect()
    try {
      await client.query(`set search_path = public; ${DEFAULT_LIMITS}`)
      // Does not wait for the lock. A concurrent index build would wait for the snapshot of a waiting session.
      const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [
        LOCKS.schemaRepair,
      ])
      if (!rows[0].taken)
        throw new Error('another database repair is running. Try again when it has ended')
      return await work(async (text, values) => {
        const result = await client.query(text, [...(values ?? [])])
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
