/** Erases the personal fields of sealed entries. Their leaves, and so the tree and all proofs, stay as they are. */
import type { PurgeRows, Scopes, TenantTx } from '../../../platform/db/index.ts'
import { append, readOwn, SYSTEM } from '../../../platform/journal/index.ts'
import { addToSpans, type LeafSpan } from '../offline/index.ts'
import * as store from './erase.store.ts'
import { ERASED, storedCommitments } from './leaf.ts'
import { PLATFORM_LOG } from './logs.store.ts'
import { sealEntries } from './sealer.ts'

/** The number of entries that a transaction erases. */
const BATCH = 1_000

interface Erasure {
  tenantId: number
  target: store.ErasureTarget
  /** The reason in the order, which stays readable. */
  reason: string
}

/** The place before all leaves. */
const BEGINNING: store.LeafPlace = { epoch: 0, index: -1 }

interface Erased {
  count: number
  /** The last erased leaf, after which the next batch begins. */
  last: store.LeafPlace
}

/**
 * Erases up to `limit` entries after a leaf. Appends and seals the order `audit.erased` in the same transaction, so that
 * verification never finds erased entries without their order.
 */
async function eraseSome(
  tx: TenantTx,
  { tenantId, target, reason }: Erasure,
  after: store.LeafPlace,
  limit = BATCH,
): Promise<Erased> {
  const entries = await store.lockErasable(tx, tenantId, target, { after, limit })
  const last = entries.at(-1)
  if (!last) return { count: 0, last: after }
  const erased = entries.map((entry) => {
    const commitments = storedCommitments(entry, entry)
    if (!commitments) throw new Error(`the salts of entry ${entry.id} are missing`)
    return { ...entry, commitments }
  })
  await store.eraseFields(tx, tenantId, erased)
  const byEpoch = Map.groupBy(entries, ({ epoch }) => epoch)
  const leaves = [...byEpoch].flatMap(([epoch, own]) => {
    const spans: LeafSpan[] = []
    for (const { index } of own) addToSpans(spans, index)
    return spans.map(([first, last]) => ({ epoch, first, last }))
  })
  await append(tx, SYSTEM, {
    action: ERASED,
    tenant_id: tenantId === PLATFORM_LOG ? null : tenantId,
    resource_type: 'audit_log',
    resource_id: tenantId,
    changes: { reason, entries: entries.length, leaves },
  })
  await sealEntries(tx, await readOwn(tx, ERASED))
  return { count: entries.length, last }
}

/** Returns a function that erases all entries of purged tenants, in batches. */
export function openPurge(reason: string): PurgeRows {
  /** The last erased leaf of each tenant whose purge is under way. */
  const reached = new Map<number, store.LeafPlace>()
  return async (tx, tenantId, limit) => {
    const after = reached.get(tenantId)
    const purge = { tenantId, target: { all: true }, reason } as const
    const { count, last } = await eraseSome(tx, purge, after ?? BEGINNING, limit)
    if (count > 0) reached.set(tenantId, last)
    else reached.delete(tenantId)
    // Looks once more from the beginning, because a batch may have been rolled back after its place was noted.
    return count > 0 || after !== undefined
  }
}

export interface ErasureRequest {
  tenantId: number
  /** The user, or the entry, to erase. */
  of: { userId: number } | { entryId: number }
  reason: string
}

export interface ErasureReport {
  erased: number
  /** The number of matching entries that are not sealed yet, and so were not erased. */
  unsealed: number
}

/**
 * Erases all entries of a request in batches. After a crash, the same request erases the others. Erases nothing while
 * matching entries are not sealed yet, because the erased ones show the addresses of a user.
 */
export async function eraseEntries(
  db: Scopes,
  { tenantId, of, reason }: ErasureRequest,
): Promise<ErasureReport> {
  const targets: { tenantId: number; target: store.ErasureTarget }[] = [{ tenantId, target: of }]
  if ('userId' in of) {
    const emails = await db.acrossTenants((tx) => store.listEmails(tx, tenantId, of.userId), 'read')
    // First, because only the entries of the user show the addresses to a repeated request. Sign-ins to an unknown
    // tenant are in the log of the platform.
    if (emails.length > 0)
      targets.unshift(
        ...[tenantId, PLATFORM_LOG].map((own) => ({ tenantId: own, target: { emails } })),
      )
  }
  const unsealed = await db.acrossTenants((tx) => store.countUnsealed(tx, targets), 'read')
  if (unsealed > 0) return { erased: 0, unsealed }
  let total = 0
  for (const { tenantId: own, target } of targets) {
    let after = BEGINNING
    for (let isDone = false; !isDone; ) {
      const erase = (tx: TenantTx) => eraseSome(tx, { tenantId: own, target, reason }, after)
      const { count, last } = await db.acrossTenants(erase)
      total += count
      after = last
      isDone = count === 0
    }
  }
  return { erased: total, unsealed }
}
