/**
 * Restores a backup into the database that it is of: all or nothing, and beside living neighbours where
 * it is of one clinic. The rows wait on a stage; then the service is closed, a safety backup is taken
 * of the very snapshot that the one transaction stands on, and only what differs is written.
 */

import { randomUUID } from 'node:crypto'
import { StartupError } from '../../../lib/startup-error.ts'
import type { Time } from '../../../lib/time.ts'
import type { DifferingSafeguards } from '../../../platform/db/fixes/index.ts'
import type { Connection } from '../../../platform/db/index.ts'
import type { Migration } from '../../../platform/db/migrate.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { RestoreColumns, RestoreSteps } from '../../../platform/restore-columns.ts'
import type { PurgedRecords, RestoreRule, RestoreRules } from '../../../platform/restore-rule.ts'
import { deleteTenants, leavingTenants } from '../../tenants/index.ts'
import { isAddressOfOther, isOperatorLeft, keptAccounts } from '../../users/index.ts'
import { type CreateDeps, createBackup, measure, type Watch } from '../create/create.ts'
import { installationOf, schemaOf } from '../create/snapshot.store.ts'
import { isBeingPurged } from '../erase/erase.store.ts'
import { notesIn, purgedOf } from '../erase/notes.ts'
import { UnreadableFile } from '../file/age.ts'
import type { Header } from '../file/format.ts'
import { fileName } from '../file/names.ts'
import { openBackup } from '../file/read.ts'
import { WEBHOOK_QUEUES } from '../made-anew.ts'
import type { Job, Made } from '../work/work.store.ts'
import {
  beginGraceAgain,
  keepSpent,
  keepTodays,
  narrowAccess,
  type TenantCase,
} from './access.store.ts'
import { apply, compare, endAccess, type Ruled } from './apply.store.ts'
import * as closing from './closing.store.ts'
import { filler } from './fill.ts'
import { leaveOut } from './leave-out.ts'
import { keepAccounts, keepOwned } from './orderer.store.ts'
import { MAX_CASES, type RestoreOptions, type RestoreResult } from './outcome.ts'
import { RefusedError, requireSafeguards } from './refused.ts'
import { type RowSource, rowsOfFile, withOlderRows } from './rows.ts'
import { indexStages, makeStages, type Staged } from './stage.store.ts'
import { beforeRows, finish } from './steps.ts'

const KEYS: readonly string[] = ['key_encryption_keys', 'data_keys']
const TRIES = 5
/** The stage alone can be written: temporary tables can in what only reads. */
const LOOKING = 'begin isolation level repeatable read read only'

export interface RestoreDeps extends CreateDeps {
  rules: RestoreRules
  /** The restore rules of the columns of restored and merged tables. */
  columns: RestoreColumns
  /** The steps of the features, run in the order of the list. */
  steps: readonly RestoreSteps[]
  /** Records that come back from no backup once they were destroyed. */
  purgedRecords: readonly PurgedRecords[]
  log: Logger
  /** Where a server is made that brings older backups up to date. */
  dataDir: string
  /** Those of this release, unless a test has others. */
  migrations?: Migration[] | undefined
  openConnection(): Connection
  clock: Time
  /** Proves that what the connection sees in its scope opens. */
  prove(client: Connection): Promise<void>
  /** Says which of the database's safeguards are not those of its schema. */
  differing: DifferingSafeguards
  /** Enters the safety backup, also where it was entered before, and says that it is whole. */
  safety: {
    begin(id: string, job: Job, tenantId: number | null): Promise<void>
    complete(id: string, made: Made): Promise<void>
  }
}

/** @throws RefusedError, UnreadableFile, or what the database says: the database is then as it was */
export async function restoreBackup(
  client: Connection,
  job: Job,
  options: RestoreOptions,
  deps: RestoreDeps,
  watch: Watch & { quiet(): Promise<void> },
): Promise<RestoreResult> {
  const { tenant_id } = options
  await client.query('begin read only')
  await requireSafeguards(client, deps.differing)
  await client.query('rollback')
  const staged = await stage(client, job, options, deps, watch)
  await requirePossible(client, job, options)
  if (options.dry_run) return rehearse(client, job, options, deps, staged)
  // Of a clinic out of the file of all nobody knows before what its safety backup comes to.
  if (tenant_id === null || job.type === 'tenant') await deps.store.requireRoom(staged.bytes)
  await watch.quiet()
  await closing.close(client, tenant_id, deps.clock)
  // That of a try that was outrun gives way to the next one's, which has all that was in it.
  const safety = randomUUID()
  try {
    return await runAgain(client, () =>
      run(client, job, options, deps, { ...staged, safety }, watch),
    )
  } finally {
    await closing.reopen(client, tenant_id).catch(() => undefined)
  }
}

/** @throws RefusedError for what is known, before the service is closed, not to come back */
async function requirePossible(
  client: Connection,
  { actor }: Job,
  { tenant_id }: RestoreOptions,
): Promise<void> {
  await client.query('begin read only')
  // The owner of the tables may be held back by row-level security too, and see none of their rows.
  await closing.enterScope(client, null)
  if (tenant_id !== null && (await isBeingPurged(client, tenant_id)))
    throw new RefusedError('the purge of the tenant has begun; it comes back from no backup')
  const kept = await keptAccounts(client, actor.user_id, tenant_id)
  // Of two accounts with one address only one can be there.
  if (await isAddressOfOther(client, kept))
    throw new RefusedError(
      'the backup has another account with your address, or that of a superadmin, which was deleted since; have another superadmin order it',
    )
  await client.query('rollback')
}

/** Runs the transaction, and again where somebody was at the same rows: a clinic's tables are its neighbours' too. */
async function runAgain<T>(client: Connection, work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1)
    try {
      return await work()
    } catch (error) {
      await client.query('rollback').catch(() => undefined)
      if (tried >= TRIES || !closing.isOutrun(error)) throw error
    }
}

/** What has been read of a backup. */
interface OnStage {
  tables: Ruled[]
  /** The tenants that were purged, by the notes in the store. */
  noted: number[]
  /** Of the file: about what the safety backup comes to. */
  bytes: number
  /** Of the backup's snapshot, ISO 8601. */
  instant: string
}

/** Reads the file onto the stage. Once it returns all of it is proven. */
async function stage(
  client: Connection,
  job: Job,
  options: RestoreOptions,
  deps: RestoreDeps,
  watch: Watch,
): Promise<OnStage> {
  const { keeper, store, rules, columns, log } = deps
  const notes = await notesIn([store], keeper, log)
  const name = fileName(job.backup_id, job.rewritten_at)
  const size = await store.size(name)
  const read = () =>
    measure(store.read(name), (bytes) => {
      watch.signal.throwIfAborted()
      watch.progress((0.5 * bytes) / size)
    }).source
  const fill = async (rows: RowSource): Promise<Ruled[]> => {
    const staged = await fillStages(client, rows, rules, options.tenant_id)
    return staged.map((table) => {
      const rule = ruleOf(rules, table.name, options.access)
      return { ...table, rule, parked: columns[table.name]?.parked }
    })
  }
  const fillFitting = async () => {
    await using file = await openBackup(read(), keeper)
    const noted = purgedOf(notes, file.header.installation)
    const fits = await requireFitting(client, file.header, job, options.tenant_id)
    const tables = fits === 'as it is' ? await fill(rowsOfFile(file)) : undefined
    return { noted, tables, header: file.header }
  }
  const { noted, tables, header } = await fillFitting()
  const known = { noted, bytes: size, instant: header.created_at }
  if (tables) return { ...known, tables }
  const wanted = Object.keys(rules).filter((table) => isLoaded(rules, table))
  const older = { ...deps, wanted, header }
  return { ...known, tables: await upToDate(withOlderRows(read(), size, older, fill)) }
}

/** What can't be brought up to date is a sentence for whoever asked. */
async function upToDate<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    throw new RefusedError(
      `the backup has an older schema, and was not brought up to date: ${error.message.replace(/[.]$/, '')}`,
      { cause: error },
    )
  }
}

async function fillStages(
  client: Connection,
  source: RowSource,
  rules: RestoreRules,
  tenantId: number | null,
): Promise<Staged[]> {
  const staged = await makeStages(
    client,
    source.tables.filter(({ name }) => isLoaded(rules, name)),
  )
  const fill = filler(client, staged, tenantId)
  await source.each(fill.rows)
  await fill.end()
  await indexStages(client, staged)
  return staged
}

/** With the access of the backup factors and secrets are restored like the rest; keys never are. */
function ruleOf(rules: RestoreRules, name: string, access: RestoreOptions['access']): RestoreRule {
  const rule = rules[name] ?? 'never touched'
  return rule === 'merged' && access === 'backup' && !KEYS.includes(name) ? 'restored' : rule
}

const isLoaded = (rules: RestoreRules, name: string) =>
  rules[name] === 'restored' || rules[name] === 'merged'

/**
 * Says whether the rows are of today's schema, or of an older one.
 * @throws RefusedError for a backup that is not of this database
 */
async function requireFitting(
  client: Connection,
  header: Header,
  job: Job,
  tenantId: number | null,
): Promise<'as it is' | 'older'> {
  if (header.backup_id !== job.backup_id || header.type !== job.type)
    throw new UnreadableFile('the file is another backup than its name says')
  if (header.installation !== (await installationOf(client)))
    throw new RefusedError(
      'the backup is of another installation; it can be restored into an empty database by wardkeep backup restore',
    )
  const now = await schemaOf(client)
  if (header.schema_version > now.schema_version)
    throw new RefusedError(
      `the backup has schema ${header.schema_version}, and this release knows ${now.schema_version}: start the newer release first`,
    )
  const then = now.migrations.filter(({ version }) => version <= header.schema_version)
  if (JSON.stringify(header.migrations) !== JSON.stringify(then))
    throw new RefusedError(
      'the backup was made by a release with other migrations than this one: restore it into an empty database with that release',
    )
  if (header.type === 'tenant' && header.tenant_id !== tenantId)
    throw new RefusedError('the backup is of another tenant')
  return header.schema_version === now.schema_version ? 'as it is' : 'older'
}

/**
 * Says what a restore would do. The stage is made ready in a short transaction of its own: that in which the rows are
 * counted has no number then, which would hold back all readers of the journal meanwhile.
 */
async function rehearse(
  client: Connection,
  job: Job,
  options: RestoreOptions,
  { purgedRecords, columns }: RestoreDeps,
  { tables, noted }: OnStage,
): Promise<RestoreResult> {
  await client.query(LOOKING)
  const left = await leaveOut(client, options, tables, noted, purgedRecords)
  await closing.enterScope(client, null)
  const cases = await narrow(client, job, options, tables, columns)
  await client.query('commit')
  await client.query(LOOKING)
  await closing.enterScope(client, options.tenant_id)
  const differences: RestoreResult['tables'] = {}
  for (const table of tables) differences[table.name] = await compare(client, table)
  const deleted = await leavingTenants(client, options.tenant_id)
  await client.query('rollback')
  return { ...resultOf(options, differences, cases, null), ...left, deleted }
}

/** The one transaction, with all checks inside. */
async function run(
  client: Connection,
  job: Job,
  options: RestoreOptions,
  deps: RestoreDeps,
  { tables, noted, instant, safety }: OnStage & { safety: string },
  watch: Watch,
): Promise<RestoreResult> {
  const { tenant_id } = options
  const still = tenant_id === null ? await closing.writtenBy(client, deps.rules) : []
  const snapshot = await closing.begin(client, still)
  await requireSafeguards(client, deps.differing)
  const left = await leaveOut(client, options, tables, noted, deps.purgedRecords)
  await takeSafetyBackup(safety, job, tenant_id, snapshot, deps, watch)
  const keyTables = tables.filter(({ name }) => KEYS.includes(name))
  const keys = keyTables.filter(({ name }) => name === 'key_encryption_keys')
  // A tenant's role reads these keys, but makes none.
  await closing.enterScope(client, null)
  await narrowAccess(client, keyTables, deps.columns)
  const keyed = await apply(client, keys)
  const rest = tables.filter((table) => !keys.includes(table))
  const cases = await narrow(client, job, options, rest, deps.columns)
  await client.query('reset role')
  await closing.enterScope(client, tenant_id)
  const deleted = await leavingTenants(client, tenant_id)
  const afterwards = await beforeRows(client, deps.steps)
  const differences = { ...keyed, ...(await apply(client, rest)) }
  await client.query(WEBHOOK_QUEUES)
  await deleteTenants(client, deleted, job.actor)
  await endAccess(client, deps.rules, tenant_id)
  const bringsAccess = options.access === 'backup'
  const restoring = { bringsAccess, instant, orderedBy: job.actor.user_id }
  for (const step of deps.steps) await step.after?.(client, restoring)
  await deps.prove(client)
  const result = { ...resultOf(options, differences, cases, safety), ...left, deleted }
  await closing.tellJournals(client, job.actor, {
    backup_id: job.backup_id,
    changes: { type: job.type, access: options.access, safety_backup_id: safety },
    cases,
  })
  await closing.commit(client, job.id, result)
  await canFail(finish(client, afterwards), 'the work after a restore', deps.log)
  return result
}

/**
 * Narrows what the stage would give back. For the role that sees all: who orders, or operates the platform, may be
 * of another clinic.
 */
async function narrow(
  client: Connection,
  { actor }: Job,
  { access, tenant_id }: RestoreOptions,
  all: readonly Staged[],
  columns: RestoreColumns,
): Promise<TenantCase[]> {
  const tables = all.filter(({ name }) => !KEYS.includes(name))
  const kept = await keptAccounts(client, actor.user_id, tenant_id)
  await beginGraceAgain(client, tables, columns)
  const isBackups = access === 'backup'
  const cases = isBackups ? [] : await narrowAccess(client, tables, columns)
  if (isBackups) await keepSpent(client, tables, columns)
  else await keepTodays(client, tables, columns)
  await keepAccounts(client, kept, tables, columns)
  if (isBackups) await keepOwned(client, kept, tables, columns)
  if (!(await isOperatorLeft(client, tenant_id)))
    throw new RefusedError('no superadmin would be left who can sign in')
  return cases
}

async function takeSafetyBackup(
  id: string,
  job: Job,
  tenantId: number | null,
  snapshot: string,
  deps: RestoreDeps,
  watch: Watch,
): Promise<void> {
  await deps.safety.begin(id, job, tenantId)
  const client = deps.openConnection()
  await client.connect()
  try {
    const type = tenantId === null ? 'full' : 'tenant'
    const subject = { ...job, backup_id: id, type, tenant_id: tenantId } as const
    const share = { ...watch, holding: () => undefined, progress: () => undefined }
    await deps.safety.complete(id, await createBackup(client, subject, deps, share, snapshot))
  } finally {
    await client.end().catch(() => undefined)
  }
}

function resultOf(
  { dry_run }: RestoreOptions,
  tables: RestoreResult['tables'],
  cases: readonly TenantCase[],
  safety_backup_id: string | null,
): Omit<RestoreResult, 'purged' | 'purged_records' | 'deleted'> {
  const shown = cases.slice(0, MAX_CASES).map(({ tenant_id: _, ...one }) => one)
  const access = { total: cases.length, cases: shown }
  return { dry_run, tables, access, safety_backup_id }
}
