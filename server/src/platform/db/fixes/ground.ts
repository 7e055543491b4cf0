/** What the fixes of the database stand on: the committed schema, its version, and the owner's door. */

import { CompiledQuery } from 'kysely'
import type { Time } from '../../../lib/time.ts'
import type { Connection } from '../connection.ts'
import { readMigrations } from '../migrate.ts'
import type { TenantTx } from '../transaction.ts'
import { type Owner, ownersDoor } from './owner.ts'
import { type Ask, readCommitted, type Schema } from './schema.ts'

export interface GroundDeps {
  openConnection(): Connection
  clock: Time
}

export interface Ground {
  readonly clock: Time
  readonly owner: Owner
  /**
   * The schema as this release has it; undefined on a database of another version: a newer node changes
   * it, or has done so.
   */
  committed(ask: Ask): Promise<Schema | undefined>
}

interface Release {
  schema: Schema
  version: number
}

/** @param read reads the release's own files */
export function openGround({ openConnection, clock }: GroundDeps, read = readRelease): Ground {
  let release: Promise<Release> | undefined
  return {
    clock,
    owner: ownersDoor(openConnection),
    async committed(ask) {
      // What could not be read, as where too many files are open, may be read the next time.
      release ??= read().catch((error) => {
        release = undefined
        throw error
      })
      const { schema, version } = await release
      return (await versionOf(ask)) === version ? schema : undefined
    },
  }
}

async function readRelease(): Promise<Release> {
  const [schema, migrations] = await Promise.all([readCommitted(), readMigrations()])
  return { schema, version: migrations.at(-1)?.version ?? 0 }
}

async function versionOf(ask: Ask): Promise<number | undefined> {
  const [newest] = await ask<{ version: number }>('select max(version) as version from migrations')
  return newest?.version
}

/** Asks within a scope. */
export const askIn =
  (tx: TenantTx): Ask =>
  async <R>(text: string, values: readonly unknown[] = []) =>
    (await tx.db.executeQuery<R>(CompiledQuery.raw(text, [...values]))).rows
