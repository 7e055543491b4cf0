/** Stages a backup. Rows with an older schema are first migrated on a temporary server. */
import { StartupError } from '../../../lib/startup-error.ts'
import type { PgConnection } from '../../../platform/db/index.ts'
import type { RestoreColumns } from '../../../platform/feature/restore-columns.ts'
import type { RestoreRule, RestoreRules } from '../../../platform/feature/restore-rule.ts'
import { type BackupProgress, type CreateDeps, measure } from '../create/create.ts'
import { notesIn, purgedOf } from '../erase/purge-notes.ts'
import { fileName } from '../file/names.ts'
import { openBackup } from '../file/read.ts'
import { rowsOf } from '../file/tenant-rows.ts'
import type { Job } from '../work/work.store.ts'
import type { Ruled } from './apply.store.ts'
import type { RestoreOptions } from './outcome.ts'
import { RefusedError, requireCompatible } from './preconditions.ts'
import { type OlderDeps, type RowSource, rowsOfFile, withOlderRows } from './rows.ts'
import { copyToStage, indexStages, makeStages, type Staged } from './stage.store.ts'

/** The tables of keys. They are always merged, even when the access of the backup is restored. */
export const STAGED_KEY_TABLES: readonly string[] = ['key_encryption_keys', 'data_keys']

/** The size of a batch of copied rows. Batches reduce the fixed cost of each COPY statement. */
const BATCH_BYTES = 1024 ** 2

export interface StageDeps extends CreateDeps, Omit<OlderDeps, 'header' | 'wanted'> {
  rules: RestoreRules
  /** The restore rules for columns of tables that a restore replaces or merges. */
  columns: RestoreColumns
}

/** A backup whose rows are in the staging tables. */
export interface StagedBackup {
  tables: Ruled[]
  /** The tenants that were purged according to the notes in the store. */
  noted: number[]
  /** The size of the backup file in bytes, used to estimate the size of the safety backup. */
  bytes: number
  /** The time of the backup's snapshot (ISO 8601). */
  instant: string
}

/** Reads a whole backup file into the staging tables, and verifies it. */
export async function stageBackup(
  client: PgConnection,
  job: Job,
  options: RestoreOptions,
  deps: StageDeps,
  watch: BackupProgress,
): Promise<StagedBackup> {
  const { backupKeys, store, rules, columns, log } = deps
  const notes = await notesIn([store], backupKeys, log)
  const name = fileName(job.backup_id, job.rewritten_at)
  const size = await store.size(name)
  const read = () =>
    measure(store.read(name), (bytes) => {
      watch.signal.throwIfAborted()
      const share = (0.5 * bytes) / size
      watch.progress({ share, phase: 'Loading the file', done: bytes, total: size, unit: 'bytes' })
    }).source
  const fill = async (rows: RowSource): Promise<Ruled[]> => {
    const staged = await fillStages(client, rows, rules, options.tenant_id)
    return staged.map((table) => {
      const rule = ruleOf(rules, table.name, options.access)
      return { ...table, rule, parked: columns[table.name]?.parked }
    })
  }
  const fillCurrent = async () => {
    await using file = await openBackup(read(), backupKeys)
    const noted = purgedOf(notes, file.header.installation)
    const schema = await requireCompatible(client, file.header, job, options.tenant_id)
    const tables = schema === 'current' ? await fill(rowsOfFile(file)) : undefined
    return { noted, tables, header: file.header }
  }
  const { noted, tables, header } = await fillCurrent()
  const known = { noted, bytes: size, instant: header.created_at }
  if (tables) return { ...known, tables }
  const wanted = Object.keys(rules).filter((table) => isLoaded(rules, table))
  const older = { ...deps, wanted, header }
  return { ...known, tables: await migrated(withOlderRows(read(), size, older, fill)) }
}

/** Converts a migration error to an error with a message for the user. */
async function migrated<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    throw new RefusedError(
      `the backup has an older schema, and migrating it failed: ${error.message.replace(/[.]$/, '')}`,
      { cause: error },
    )
  }
}

async function fillStages(
  client: PgConnection,
  source: RowSource,
  rules: RestoreRules,
  tenantId: number | null,
): Promise<Staged[]> {
  const staged = await makeStages(
    client,
    source.tables.filter(({ name }) => isLoaded(rules, name)),
  )
  const batches = batchesTo(client, staged, tenantId)
  await source.each(batches.add)
  await batches.flush()
  await indexStages(client, staged)
  return staged
}

interface Batch {
  table: Staged
  parts: Buffer[]
  bytes: number
}

/**
 * Copies rows to the stage in batches, outside a transaction. A transaction that waited for the store would delay all
 * journal readers.
 * @param tenantId the tenant whose rows are staged; null for all tenants
 */
function batchesTo(client: PgConnection, staged: readonly Staged[], tenantId: number | null) {
  let batch: Batch | undefined

  async function flush(): Promise<void> {
    const full = batch
    batch = undefined
    if (full) await copyToStage(client, full.table, Buffer.concat(full.parts))
  }

  async function add(name: string, part: Buffer): Promise<void> {
    if (batch?.table.name !== name) await flush()
    const table = staged.find((one) => one.name === name)
    if (!table) return
    const wanted = tenantId === null ? part : rowsOf(table, part, tenantId)
    if (wanted.length === 0) return
    batch ??= { table, parts: [], bytes: 0 }
    // Copies the rows, because the source may reuse its buffer.
    batch.parts.push(Buffer.from(wanted))
    batch.bytes += wanted.length
    if (batch.bytes >= BATCH_BYTES) await flush()
  }

  return { add, flush }
}

/**
 * Returns the rule for a table. When the backup's access is restored, tables that are usually merged are replaced,
 * except tables of keys.
 */
function ruleOf(rules: RestoreRules, name: string, access: RestoreOptions['access']): RestoreRule {
  const rule = rules[name] ?? 'never touched'
  return rule === 'merged' && access === 'backup' && !STAGED_KEY_TABLES.includes(name)
    ? 'restored'
    : rule
}

const isLoaded = (rules: RestoreRules, name: string) =>
  rules[name] === 'restored' || rules[name] === 'merged'
