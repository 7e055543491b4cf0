/**
 * The transaction of a restore in place, as a list of named steps. Each step declares the database role it runs as. A
 * dry run has a separate list, which shares the steps that prepare the stage.
 */
import type { Time } from '../../../lib/time.ts'
import type { EntryKey, PgConnection } from '../../../platform/db/index.ts'
import type { RestoreSteps } from '../../../platform/feature/restore-columns.ts'
import type { PurgedRecords } from '../../../platform/feature/restore-rule.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { DifferingSafeguards } from '../../../platform/schema/repairs/index.ts'
import { deleteTenants, leavingTenants } from '../../tenants/index.ts'
import { isOperatorLeft, keptAccounts } from '../../users/index.ts'
import { type BackupProgress, createBackup } from '../create/create.ts'
import { purgedIn } from '../erase/erase.store.ts'
import { dropPurged } from '../erase/purged-records.store.ts'
import { WEBHOOK_QUEUES } from '../restore-into-empty/load.store.ts'
import { type CreatedBackup, completeRestore, type Job } from '../work/work.store.ts'
import {
  keepAccounts,
  keepCurrentSecrets,
  keepSecretsOf,
  keepSpent,
  narrowAccess,
  restartGracePeriods,
  type TenantCase,
} from './access.store.ts'
import { apply, compare, endAccess } from './apply.store.ts'
import { recordRestore } from './journal.store.ts'
import { MAX_CASES, type RestoreOptions, type RestoreResult } from './outcome.ts'
import { RefusedError, requireSafeguards } from './preconditions.ts'
import { dropTenants, stageOf } from './stage.store.ts'
import { STAGED_KEY_TABLES, type StageDeps, type StagedBackup } from './stage.ts'
import * as store from './transaction.store.ts'

export interface InPlaceDeps extends StageDeps {
  /** The restore steps of the features. They run in this order. */
  steps: readonly RestoreSteps[]
  /** Tables whose individually purged records must never be restored. */
  purgedRecords: readonly PurgedRecords[]
  openConnection(): PgConnection
  clock: Time
  entryKey: EntryKey
  /** Verifies that the encrypted values visible to the connection can be decrypted. */
  verify(client: PgConnection): Promise<void>
  /** Returns the constraints, triggers and grants of the database that differ from its schema. */
  differing: DifferingSafeguards
  /** Records in the database that the safety backup started (or restarted) and completed. */
  safety: {
    begin(id: string, job: Job, tenantId: number | null): Promise<void>
    complete(id: string, made: CreatedBackup): Promise<void>
  }
}

export interface RestoreInput {
  readonly client: PgConnection
  readonly job: Job
  readonly options: RestoreOptions
  readonly deps: InPlaceDeps
  readonly staged: StagedBackup
  readonly watch: BackupProgress
  /** The id of the safety backup; null in a dry run, which creates none. */
  readonly safetyId: string | null
}

/** A running restore, with the results of the steps so far. */
interface RestoreRun extends RestoreInput {
  /** The name of the exported snapshot, from which the safety backup is created. */
  snapshot: string
  purged: Pick<RestoreResult, 'purged' | 'purged_records'>
  cases: TenantCase[]
  tables: RestoreResult['tables']
  deleted: number[]
  /** Work that features do after the commit. */
  afterwards: ((client: PgConnection) => Promise<void>)[]
}

interface RestoreStep {
  readonly name: string
  readonly role: store.RestoreRole
  run(run: RestoreRun): Promise<void>
}

/** Removes purged tenants and records from the stage. @throws RefusedError if the restored tenant was purged */
const EXCLUDE_PURGED: RestoreStep = {
  name: 'exclude purged records',
  role: 'owner',
  async run(run) {
    const { client, options, deps, staged } = run
    const purged = [...staged.noted, ...(await purgedIn(client))]
    if (options.tenant_id !== null && purged.includes(options.tenant_id))
      throw new RefusedError('the tenant was purged and cannot be restored from a backup')
    const names = new Set(staged.tables.map(({ name }) => name))
    const isStaged = (table: string) => names.has(table)
    const purged_records = await dropPurged(client, deps.purgedRecords, isStaged, stageOf)
    run.purged = { purged: await dropTenants(client, staged.tables, purged), purged_records }
  },
}

/** Runs as the role that sees all rows, because the requester or a superadmin may belong to another tenant. */
const NARROW_ACCESS: RestoreStep = { name: 'narrow access', role: 'platform', run: narrow }

/** The steps of a restore. If one step fails, all changes are rolled back. */
export const RESTORE_STEPS: readonly RestoreStep[] = [
  { name: 'begin', role: 'owner', run: begin },
  {
    name: 'verify the safeguards',
    role: 'owner',
    run: ({ client, deps }) => requireSafeguards(client, deps.differing),
  },
  EXCLUDE_PURGED,
  { name: 'take the safety backup', role: 'owner', run: takeSafetyBackup },
  // A tenant's role can read key-encryption keys but not insert them.
  { name: 'restore key-encryption keys', role: 'platform', run: restoreKeys },
  NARROW_ACCESS,
  { name: 'prepare the features', role: 'scope', run: prepareFeatures },
  { name: 'write the rows', role: 'scope', run: writeRows },
  {
    name: 'delete tenants',
    role: 'scope',
    run: ({ client, deleted, job, deps }) =>
      deleteTenants(client, deleted, { actor: job.actor, entryKey: deps.entryKey }),
  },
  {
    name: 'end access',
    role: 'scope',
    run: ({ client, deps, options }) => endAccess(client, deps.rules, options.tenant_id),
  },
  { name: 'finish the features', role: 'scope', run: finishFeatures },
  { name: 'verify decryption', role: 'scope', run: ({ client, deps }) => deps.verify(client) },
  { name: 'record in the journals', role: 'scope', run: record },
  { name: 'complete the job and commit', role: 'scope', run: complete },
]

/** A read-only transaction can still write to temporary tables, such as the stage. */
const BEGIN_READ_ONLY = 'begin isolation level repeatable read read only'

/**
 * The steps of a dry run. The stage is prepared in a separate transaction. The counting transaction is read-only and
 * gets no transaction id. An open transaction with an id would delay all journal readers.
 */
export const DRY_RUN_STEPS: readonly RestoreStep[] = [
  { name: 'begin', role: 'owner', run: ({ client }) => send(client, BEGIN_READ_ONLY) },
  EXCLUDE_PURGED,
  NARROW_ACCESS,
  {
    name: 'begin to count',
    role: 'owner',
    run: ({ client }) => send(client, `commit; ${BEGIN_READ_ONLY}`),
  },
  { name: 'count the differences', role: 'scope', run: countDifferences },
  { name: 'roll back', role: 'owner', run: ({ client }) => send(client, 'rollback') },
]

const send = async (client: PgConnection, text: string): Promise<void> => {
  await client.query(text)
}

/** Runs the steps in order, each with its database role. Returns the result of the restore. */
export async function runSteps(
  steps: readonly RestoreStep[],
  input: RestoreInput,
): Promise<RestoreResult> {
  const run: RestoreRun = {
    ...input,
    snapshot: '',
    purged: { purged: [], purged_records: {} },
    cases: [],
    tables: {},
    deleted: [],
    afterwards: [],
  }
  for (const step of steps) {
    run.deps.log.debug({ backup: run.job.backup_id, step: step.name }, 'restore step begun')
    await store.setRole(run.client, step.role, run.options.tenant_id)
    await step.run(run)
  }
  return resultOf(run)
}

async function begin(run: RestoreRun): Promise<void> {
  const { client, options, deps } = run
  const locked = options.tenant_id === null ? await store.writtenTables(client, deps.rules) : []
  run.snapshot = await store.begin(client, locked)
}

async function takeSafetyBackup(run: RestoreRun): Promise<void> {
  const { job, deps, watch, snapshot: snapshotName } = run
  const { tenant_id } = run.options
  const id = run.safetyId as string
  await deps.safety.begin(id, job, tenant_id)
  const client = deps.openConnection()
  await client.connect()
  try {
    const type = tenant_id === null ? 'full' : 'tenant'
    const subject = { ...job, backup_id: id, type, tenant_id } as const
    const share = { ...watch, holding: () => undefined, progress: () => undefined }
    const made = await createBackup(client, subject, deps, share, { snapshotName })
    await deps.safety.complete(id, made)
  } finally {
    await client.end().catch(() => undefined)
  }
}

const isKeyEncryptionKeys = ({ name }: { name: string }) => name === 'key_encryption_keys'

async function restoreKeys(run: RestoreRun): Promise<void> {
  const { client, deps, staged } = run
  const keys = staged.tables.filter(({ name }) => STAGED_KEY_TABLES.includes(name))
  await narrowAccess(client, keys, deps.columns)
  run.tables = await apply(client, keys.filter(isKeyEncryptionKeys))
}

/** @throws RefusedError if no superadmin could sign in after the restore */
async function narrow(run: RestoreRun): Promise<void> {
  const { client, job, options, staged } = run
  const { columns } = run.deps
  const tables = staged.tables.filter(({ name }) => !STAGED_KEY_TABLES.includes(name))
  const kept = await keptAccounts(client, job.actor.user_id, options.tenant_id)
  await restartGracePeriods(client, tables, columns)
  if (options.access === 'backup') await keepSpent(client, tables, columns)
  else {
    run.cases = await narrowAccess(client, tables, columns)
    await keepCurrentSecrets(client, tables, columns)
  }
  await keepAccounts(client, kept, tables, columns)
  if (options.access === 'backup') await keepSecretsOf(client, kept, tables, columns)
  if (!(await isOperatorLeft(client, options.tenant_id)))
    throw new RefusedError('no superadmin would be able to sign in after the restore')
}

async function prepareFeatures(run: RestoreRun): Promise<void> {
  const { client, options, deps } = run
  run.deleted = await leavingTenants(client, options.tenant_id)
  for (const step of deps.steps) {
    const work = await step.before?.(client)
    if (work) run.afterwards.push(work)
  }
}

async function writeRows(run: RestoreRun): Promise<void> {
  const { client, staged } = run
  const tables = staged.tables.filter((table) => !isKeyEncryptionKeys(table))
  run.tables = { ...run.tables, ...(await apply(client, tables)) }
  await client.query(WEBHOOK_QUEUES)
}

async function finishFeatures({ client, job, options, deps, staged }: RestoreRun): Promise<void> {
  const restoring = {
    bringsAccess: options.access === 'backup',
    instant: staged.instant,
    orderedBy: job.actor.user_id,
  }
  for (const step of deps.steps) await step.after?.(client, restoring)
}

async function record(run: RestoreRun): Promise<void> {
  const { client, job, deps, options, cases, safetyId } = run
  const by = { actor: job.actor, entryKey: deps.entryKey }
  await recordRestore(client, by, {
    backup_id: job.backup_id,
    changes: { type: job.type, access: options.access, safety_backup_id: safetyId },
    cases,
  })
}

async function complete(run: RestoreRun): Promise<void> {
  const { client, job, deps, afterwards } = run
  await completeRestore(client, job.id, resultOf(run))
  await store.commit(client)
  // Logs an error of this work. It does not affect the restore.
  await canFail(runAfterwards(client, afterwards), 'work after a restore', deps.log)
}

async function runAfterwards(
  client: PgConnection,
  afterwards: RestoreRun['afterwards'],
): Promise<void> {
  if (afterwards.length === 0) return
  await client.query('begin')
  try {
    await store.setRole(client, 'platform', null)
    for (const work of afterwards) await work(client)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

async function countDifferences(run: RestoreRun): Promise<void> {
  const { client, options, staged } = run
  for (const table of staged.tables) run.tables[table.name] = await compare(client, table)
  run.deleted = await leavingTenants(client, options.tenant_id)
}

function resultOf(run: RestoreRun): RestoreResult {
  const { options, tables, cases, safetyId, purged, deleted } = run
  const shown = cases
    .slice(0, MAX_CASES)
    .map(({ tenant_id: _, name, ...one }) => (options.dry_run ? { ...one, name } : one))
  return {
    dry_run: options.dry_run,
    tables,
    access: { total: cases.length, cases: shown },
    safety_backup_id: safetyId,
    ...purged,
    deleted,
  }
}
