/** Implements `wardkeep backup forget-tenant`, which removes a purged tenant from the full backups. */

import { randomUUID } from 'node:crypto'
import { StartupError } from '../../../lib/startup-error.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import { insertJob } from '../backups.store.ts'
import { UnreadableFile } from '../file/age.ts'
import { backupIdOf, entryIdOf } from '../file/names.ts'
import { NotStoredError } from '../stores/store.ts'
import {
  findFiled,
  findPurged,
  forgettingJob,
  listContaining,
  type StoredFiles,
} from './erase.store.ts'
import { erase } from './erase.ts'
import { KeptError, type RewriteDeps, settleRewrite } from './rewrite.ts'
import { type UnlistedBackup, unknownIn } from './unlisted-backups.ts'

/** Errors that concern one backup and carry a message for the operator. Any other error aborts the command. */
const SENTENCES = [StartupError, UnreadableFile, NotStoredError, KeptError]

export interface Forgetting {
  tenant_id: number
  /** The backups that no longer contain the tenant. This command or an earlier one has rewritten them. */
  rewritten: string[]
  earlier: string[]
  /** The backups that may still contain the tenant, each with the reason. */
  left: { backup_id: string; reason: string }[]
}

export interface ForgetTenantDeps extends RewriteDeps {
  db: Scopes
  /**
   * Waits until a job ends. Runs the job in this process if no other process does.
   * @throws StartupError with the cause if the job fails
   */
  follow(job: string, onProgress: (share: number) => void): Promise<void>
}

/** Rewrites all full backups that contain the tenant. @throws StartupError if the tenant was not purged */
export async function forgetTenant(
  deps: ForgetTenantDeps,
  tenantId: number,
  onProgress: (share: number) => void,
): Promise<Forgetting> {
  const { db } = deps
  const holding = await db.acrossTenants((tx) => listContaining(tx, tenantId), 'read')
  if (!holding)
    throw new StartupError(
      `Tenant ${tenantId} is not purged. Only a purged tenant can be removed from backups.`,
    )
  const outcome: Forgetting = { tenant_id: tenantId, rewritten: [], earlier: [], left: [] }
  for (const [index, backup] of holding.entries())
    try {
      await forgetIn(deps, backup, (share) => onProgress((index + share) / holding.length))
      outcome[backup.is_done ? 'earlier' : 'rewritten'].push(backup.id)
    } catch (error) {
      if (!SENTENCES.some((kind) => error instanceof kind)) throw error
      const { message } = error as Error
      outcome.left.push({ backup_id: backup.id, reason: message.replace(/[.]$/, '') })
    }
  const unknown = await unknownIn(deps)
  outcome.left.push(...(await eraseOwn(deps, tenantId, unknown)), ...unwritten(unknown))
  return outcome
}

/** Deletes the tenant's own backups. Returns those that the store did not delete because they are locked. */
async function eraseOwn(
  deps: ForgetTenantDeps,
  tenantId: number,
  unknown: readonly UnlistedBackup[],
): Promise<Forgetting['left']> {
  const purged = await deps.db.acrossTenants((tx) => findPurged(tx, tenantId), 'read')
  const kept = purged ? await erase(deps, purged, unknown, new AbortController().signal) : []
  const ids = kept.flatMap((name) => backupIdOf(name) ?? entryIdOf(name) ?? [])
  const reason = 'it is a backup of this tenant, and the store keeps it until its lock ends'
  return [...new Set(ids)].map((backup_id) => ({ backup_id, reason }))
}

async function forgetIn(
  deps: ForgetTenantDeps,
  { id, is_whole, is_done }: StoredFiles,
  onProgress: (share: number) => void,
): Promise<void> {
  const { db, follow } = deps
  if (!is_whole)
    throw new StartupError('it is still being created. Run the command again when it is completed')
  if (is_done) {
    const backup = await db.acrossTenants((tx) => findFiled(tx, id), 'read')
    if (backup) await settleRewrite(backup, deps, new AbortController().signal)
    return
  }
  // First finishes the job of an earlier command that was interrupted.
  const begun = await db.acrossTenants(forgettingJob, 'read')
  if (begun) await follow(begun, () => undefined).catch(() => undefined)
  await follow(await db.acrossTenants((tx) => queue(tx, id)), onProgress)
}

async function queue(tx: TenantTx, backup_id: string): Promise<string> {
  const id = randomUUID()
  const actor = JSON.stringify(SYSTEM)
  await insertJob(tx, { id, backup_id, tenant_id: null, kind: 'forget', actor })
  return id
}

/** Selects the unregistered backups that may contain the tenant but cannot be rewritten. */
const unwritten = (unknown: readonly UnlistedBackup[]): Forgetting['left'] =>
  unknown.flatMap(({ id, entry }) => {
    if (typeof entry === 'string') return [{ backup_id: id, reason: entry }]
    return entry.type === 'full' ? [{ backup_id: id, reason: UNKNOWN }] : []
  })

const UNKNOWN =
  'it is not registered in the database, or registered as failed. Run wardkeep backup adopt. If that does not register it, delete its files'
