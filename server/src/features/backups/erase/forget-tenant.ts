/** `wardkeep backup forget-tenant`: takes a purged tenant out of the backups of everything. */

import { randomUUID } from 'node:crypto'
import { StartupError } from '../../../lib/startup-error.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import { insertJob } from '../backups.store.ts'
import { UnreadableFile } from '../file/age.ts'
import { entryIdOf, idOf } from '../file/names.ts'
import { NotStoredError } from '../stores/store.ts'
import { findFiled, findPurged, forgettingJob, type Holding, listHolding } from './erase.store.ts'
import { erase } from './erase.ts'
import { type FileDeps, KeptError, settle } from './rewrite.ts'
import { type Unknown, unknownIn } from './unknown.ts'

/** What is wrong with one backup, in words; anything else is a fault of the whole work. */
const SENTENCES = [StartupError, UnreadableFile, NotStoredError, KeptError]

export interface Forgetting {
  tenant_id: number
  /** The backups that do not hold it any more: written anew just now, or earlier. */
  rewritten: string[]
  earlier: string[]
  /** Those that may still hold it, and why. */
  left: { backup_id: string; reason: string }[]
}

export interface ForgetTenantDeps extends FileDeps {
  db: Scopes
  /** Does a job to its end, or waits until somebody else has. @throws StartupError with why it failed */
  follow(job: string, onProgress: (share: number) => void): Promise<void>
}

/** @throws StartupError where the tenant was not purged */
export async function forgetTenant(
  deps: ForgetTenantDeps,
  tenantId: number,
  onProgress: (share: number) => void,
): Promise<Forgetting> {
  const { db } = deps
  const holding = await db.acrossTenants((tx) => listHolding(tx, tenantId), 'read')
  if (!holding)
    throw new StartupError(
      `Tenant ${tenantId} was not purged: only one that is gone for good is taken out of backups.`,
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

/** Deletes the tenant's own backups. Returns those that the store keeps. */
async function eraseOwn(
  deps: ForgetTenantDeps,
  tenantId: number,
  unknown: readonly Unknown[],
): Promise<Forgetting['left']> {
  const purged = await deps.db.acrossTenants((tx) => findPurged(tx, tenantId), 'read')
  const kept = purged ? await erase(deps, purged, unknown, new AbortController().signal) : []
  const ids = kept.flatMap((name) => idOf(name) ?? entryIdOf(name) ?? [])
  const reason = 'it is of the tenant alone, and the store keeps it until its lock ends'
  return [...new Set(ids)].map((backup_id) => ({ backup_id, reason }))
}

async function forgetIn(
  deps: ForgetTenantDeps,
  { id, is_whole, is_done }: Holding,
  onProgress: (share: number) => void,
): Promise<void> {
  const { db, follow } = deps
  if (!is_whole) throw new StartupError('it is being made: ask again once it is whole')
  if (is_done) {
    const backup = await db.acrossTenants((tx) => findFiled(tx, id), 'read')
    if (backup) await settle(backup, deps, new AbortController().signal)
    return
  }
  // One that somebody began, and did not end, comes first.
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

/** Of these the ones that may hold the tenant, and can't be written anew. */
const unwritten = (unknown: readonly Unknown[]): Forgetting['left'] =>
  unknown.flatMap(({ id, told }) => {
    if (typeof told === 'string') return [{ backup_id: id, reason: told }]
    return told.type === 'full' ? [{ backup_id: id, reason: UNKNOWN }] : []
  })

const UNKNOWN =
  'the database does not know it; wardkeep backup adopt enters it, or counts it as failed: then delete it'
