/**
 * Restores a backup into the database from which it was created, completely or not at all. While one tenant is
 * restored, the others stay in service. The rows are staged before maintenance mode begins. Then a single transaction
 * exports its snapshot for a safety backup, and writes the differences.
 */
import { randomUUID } from 'node:crypto'
import type { PgConnection } from '../../../platform/db/index.ts'
import type { BackupProgress } from '../create/create.ts'
import type { Job } from '../work/work.store.ts'
import { enterMaintenance, leaveMaintenance } from './maintenance.store.ts'
import type { RestoreOptions, RestoreResult } from './outcome.ts'
import { requirePossible, requireSafeguards } from './preconditions.ts'
import { stageBackup } from './stage.ts'
import { isOutpaced } from './transaction.store.ts'
import {
  DRY_RUN_STEPS,
  type InPlaceDeps,
  RESTORE_STEPS,
  type RestoreInput,
  runSteps,
} from './transaction.ts'

const MAX_TRIES = 5

/** The phases after the backup was loaded. */
const COUNTING = 'Counting the differences'
const REPLACING = 'Replacing the data in maintenance mode'
const LOADED = { share: 0.5, done: null, total: null, unit: 'records' } as const

/**
 * Restores a backup in place, or previews the restore.
 * @throws RefusedError, UnreadableFile, or a database error. The database is then unchanged.
 */
export async function restoreBackup(
  client: PgConnection,
  job: Job,
  options: RestoreOptions,
  deps: InPlaceDeps,
  watch: BackupProgress & { quiet(): Promise<void> },
): Promise<RestoreResult> {
  const { tenant_id } = options
  await client.query('begin read only')
  await requireSafeguards(client, deps.differing)
  await client.query('rollback')
  const staged = await stageBackup(client, job, options, deps, watch)
  await requirePossible(client, job, options)
  const input = { client, job, options, deps, staged, watch }
  watch.progress({ ...LOADED, phase: options.dry_run ? COUNTING : REPLACING })
  if (options.dry_run) return runSteps(DRY_RUN_STEPS, { ...input, safetyId: null })
  // If one tenant is restored from a full backup, the size of its data is unknown until the safety backup is written.
  if (tenant_id === null || job.type === 'tenant') await deps.store.requireRoom(staged.bytes)
  await watch.quiet()
  await enterMaintenance(client, tenant_id, deps.clock)
  try {
    return await runAgain({ ...input, safetyId: randomUUID() })
  } finally {
    await leaveMaintenance(client, tenant_id).catch(() => undefined)
  }
}

/**
 * Runs the transaction. Retries after a conflict with other writers, because other tenants use the same tables. Each
 * retry replaces the safety backup of the previous attempt.
 */
async function runAgain(input: RestoreInput): Promise<RestoreResult> {
  for (let tried = 1; ; tried += 1)
    try {
      return await runSteps(RESTORE_STEPS, input)
    } catch (error) {
      await input.client.query('rollback').catch(() => undefined)
      if (tried >= MAX_TRIES || !isOutpaced(error)) throw error
    }
}
