/**
 * Restores a backup into the database that it is of: all or nothing, and beside living neighbours where
 * it is of one clinic. The rows wait on a stage; then the service is closed, a safety backup is taken
 * of the very snapshot that the one transaction stands on, and only what differs is written.
 */
import { randomUUID } from 'node:crypto'
import type { Connection } from '../../../platform/db/index.ts'
import type { RestoreRule, RestoreRules } from '../../../platform/restore-rule.ts'
import { type CreateDeps, createBackup, fileName, type Watch } from '../create/create.ts'
import { installationOf, schemaOf } from '../create/snapshot.store.ts'
import { UnreadableFile } from '../file/age.ts'
import type { Header } from '../file/format.ts'
import { readBackup } from '../file/read.ts'
import type { Job, Made } from '../work/work.store.ts'
import { findPurged, keepKeys, keepSpent, keepTodays, narrowAccess } from './access.store.ts'
import { apply, compare, endAccess, type Ruled } from './apply.store.ts'
import * as closing from './closing.store.ts'
import { filler } from './fill.ts'
import type { AccessCase, RestoreOptions, RestoreResult } from './outcome.ts'
import { dropTenants, indexStages, makeStages, type Staged } from './stage.store.ts'

/** What is not restored, and why, in a sentence for whoever asked for it. Nothing was touched. */
export class RefusedError extends Error {}

const KEYS: readonly string[] = ['key_encryption_keys', 'data_keys']
/** Cases of access that a result names; all are counted. */
const MAX_CASES = 1_000

export interface RestoreDeps extends CreateDeps {
  rules: RestoreRules
  openConnection(): Connection
  /** Enters the safety backup, and says that it is whole. */
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
  const tables = await stage(client, job, options, deps, watch)
  if (options.dry_run) return rehearse(client, job, options, tables)
  await watch.quiet()
  await closing.close(client, tenant_id)
  try {
    return await run(client, job, options, deps, tables, watch)
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    await closing.reopen(client, tenant_id).catch(() => undefined)
  }
}

/** Reads the file onto the stage. Once it returns all of it is proven. */
async function stage(
  client: Connection,
  job: Job,
  { tenant_id, access }: RestoreOptions,
  { keeper, store, rules }: RestoreDeps,
  watch: Watch,
): Promise<Ruled[]> {
  let staged: Staged[] = []
  const fill = filler(client, () => staged, tenant_id)
  const size = await store.size(fileName(job.backup_id))
  let bytes = 0
  async function* source() {
    for await (const chunk of store.read(fileName(job.backup_id))) {
      watch.signal.throwIfAborted()
      bytes += chunk.length
      watch.progress((0.5 * bytes) / size)
      yield chunk
    }
  }
  await readBackup(source(), keeper, {
    async header(header) {
      await requireFitting(client, header, job, tenant_id)
      const wanted = header.tables.filter(({ name }) => isLoaded(rules, name))
      staged = await makeStages(client, wanted)
    },
    rows: fill.rows,
  })
  await fill.end()
  await indexStages(client, staged)
  return staged.map((table) => ({ ...table, rule: ruleOf(rules, table.name, access) }))
}

/** With the access of the backup factors and secrets are restored like the rest; keys never are. */
function ruleOf(rules: RestoreRules, name: string, access: RestoreOptions['access']): RestoreRule {
  const rule = rules[name] ?? 'never touched'
  return rule === 'merged' && access === 'backup' && !KEYS.includes(name) ? 'restored' : rule
}

const isLoaded = (rules: RestoreRules, name: string) =>
  rules[name] === 'restored' || rules[name] === 'merged'

/** @throws RefusedError for a backup that is not of this database as it is now */
async function requireFitting(
  client: Connection,
  header: Header,
  job: Job,
  tenantId: number | null,
): Promise<void> {
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
  if (JSON.stringify(header.migrations) !== JSON.stringify(now.migrations))
    throw new RefusedError(
      `the backup has schema ${header.schema_version}, and the database has ${now.schema_version}: restore it into an empty database with wardkeep backup restore, which brings it up to date`,
    )
  if (header.type === 'tenant' && header.tenant_id !== tenantId)
    throw new RefusedError('the backup is of another tenant')
}

/** Says what a restore would do. */
async function rehearse(
  client: Connection,
  job: Job,
  options: RestoreOptions,
  tables: Ruled[],
): Promise<RestoreResult> {
  await client.query('begin isolation level repeatable read')
  await closing.enterScope(client, options.tenant_id)
  const cases = await narrow(client, job, options, tables)
  const differences: RestoreResult['tables'] = {}
  for (const table of tables) differences[table.name] = await compare(client, table)
  await client.query('rollback')
  return resultOf(options, differences, cases, null)
}

/** The one transaction, with all checks inside. */
async function run(
  client: Connection,
  job: Job,
  options: RestoreOptions,
  deps: RestoreDeps,
  tables: Ruled[],
  watch: Watch,
): Promise<RestoreResult> {
  const { tenant_id } = options
  const snapshot = await closing.begin(client)
  const safety = await takeSafetyBackup(job, tenant_id, snapshot, deps, watch)
  const keys = tables.filter(({ name }) => name === 'key_encryption_keys')
  // A tenant's role reads these keys, but makes none.
  await closing.enterScope(client, null)
  await keepKeys(client)
  const keyed = await apply(client, keys)
  await client.query('reset role')
  await closing.enterScope(client, tenant_id)
  const rest = tables.filter((table) => !keys.includes(table))
  const cases = await narrow(client, job, options, tables)
  const differences = { ...keyed, ...(await apply(client, rest)) }
  if (tenant_id === null) await closing.deleteLaterTenants(client)
  await closing.endGrants(client)
  const ended = Object.entries(deps.rules).filter(([, rule]) => rule === 'ended')
  await endAccess(
    client,
    ended.map(([name]) => name),
    tenant_id,
  )
  if (tenant_id === null) await closing.requireOperator(client)
  const result = resultOf(options, differences, cases, safety)
  await closing.tellJournals(client, job.actor, {
    backup_id: job.backup_id,
    changes: { type: job.type, access: options.access, safety_backup_id: safety },
  })
  await closing.commit(client, job.id, result)
  return result
}

/** Narrows what the stage would give back. @throws RefusedError for a purged tenant */
async function narrow(
  client: Connection,
  job: Job,
  { access, tenant_id }: RestoreOptions,
  tables: readonly Ruled[],
): Promise<AccessCase[]> {
  const purged = await findPurged(client)
  if (tenant_id !== null && purged.includes(tenant_id))
    throw new RefusedError('the tenant was purged; it comes back from no backup')
  await dropTenants(client, tables, purged)
  if (access === 'backup') {
    await keepSpent(client, job.actor.user_id)
    return []
  }
  const cases = await narrowAccess(client, job.actor.user_id)
  await keepTodays(client)
  return cases
}

async function takeSafetyBackup(
  job: Job,
  tenantId: number | null,
  snapshot: string,
  deps: RestoreDeps,
  watch: Watch,
): Promise<string> {
  const id = randomUUID()
  await deps.safety.begin(id, job, tenantId)
  const client = deps.openConnection()
  client.on('error', () => undefined)
  await client.connect()
  try {
    const type = tenantId === null ? 'full' : 'tenant'
    const subject = { ...job, backup_id: id, type, tenant_id: tenantId } as const
    const share = { ...watch, holding: () => undefined, progress: () => undefined }
    await deps.safety.complete(id, await createBackup(client, subject, deps, share, snapshot))
    return id
  } finally {
    await client.end().catch(() => undefined)
  }
}

function resultOf(
  { dry_run }: RestoreOptions,
  tables: RestoreResult['tables'],
  cases: readonly AccessCase[],
  safety_backup_id: string | null,
): RestoreResult {
  const access = { total: cases.length, cases: cases.slice(0, MAX_CASES) }
  return { dry_run, tables, access, safety_backup_id }
}
