/** Records the result of a segment: its findings are stored, journaled and mailed, each of them once. */
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { append, appendAll, type NewEntry, SYSTEM } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Finding, VerificationReport } from '../offline/index.ts'
import { PLATFORM_LOG } from '../transparency/logs.store.ts'
import { findingMail } from './finding-mail.ts'
import * as store from './verifications.store.ts'

/** The maximum number of findings in a pass that have a journal entry of their own. */
const MAX_LISTED = 100
/** The maximum number of findings of a log that are stored. The rest is only counted. */
const MAX_STORED = 1_000

/** Lists the active superadmins. */
export type ListSuperadmins = (tx: TenantTx) => Promise<{ email: string; full_name: string }[]>

export interface RecordDeps {
  db: Scopes
  log: Logger
  mailer: Mailer
  listSuperadmins: ListSuperadmins
}

export interface SegmentResult {
  first: number
  coveredFrom: string | null
  report: VerificationReport
}

/** Records a segment and moves the pass on. Does nothing if the pass has moved on or began again. */
export async function recordSegment(
  { db, log, mailer, listSuperadmins }: RecordDeps,
  pass: store.Pass,
  { first, coveredFrom, report }: SegmentResult,
): Promise<void> {
  const { tenant_id, epoch } = pass
  const fresh = await db.acrossTenants(async (tx) => {
    if (!(await store.lockPass(tx, pass))) return []
    const { added, more } = await storeFindings(tx, pass, report)
    const listed = added.slice(0, MAX_LISTED - pass.listed)
    appendAll(tx, SYSTEM, listed.map(entryOf))
    const counted = pass.counted + added.length - listed.length + more
    const mails = added.length > 0 && !pass.is_mailed
    if (mails)
      for (const { email, full_name } of await listSuperadmins(tx))
        await mailer.send(tx, { to: email, ...findingMail(full_name, tenant_id, added) })
    await store.saveProgress(tx, pass, {
      nextIndex: first,
      coveredFrom,
      listed: pass.listed + listed.length,
      counted,
      isMailed: pass.is_mailed || mails,
    })
    if (first === 0) await end(tx, pass, counted)
    return added
  })
  for (const { kind, index, entry_id } of fresh)
    log.error({ tenant_id, epoch, kind, index, entry_id }, 'audit log was altered')
}

/** Ends a pass, and journals the number of findings without an entry of their own. */
async function end(tx: TenantTx, pass: store.Pass, counted: number): Promise<void> {
  await store.endPass(tx, pass)
  if (counted > 0) await append(tx, SYSTEM, entryOf({ tenant_id: pass.tenant_id, more: counted }))
}

type Reported = Pick<Finding, 'kind' | 'index' | 'entry_id' | 'tenant_id'>

const entryOf = ({
  tenant_id,
  ...changes
}: Reported | { tenant_id: number; more: number }): NewEntry => ({
  action: 'audit.tampering_found',
  tenant_id: tenant_id === PLATFORM_LOG ? null : tenant_id,
  resource_type: 'audit_log',
  resource_id: tenant_id,
  changes:
    'more' in changes
      ? changes
      : { kind: changes.kind, index: changes.index, entry_id: changes.entry_id },
})

/** Stores the findings. Returns the new ones, and the number of those that are not stored. */
async function storeFindings(
  tx: TenantTx,
  pass: store.Pass,
  { findings, omitted }: VerificationReport,
): Promise<{ added: Finding[]; more: number }> {
  if (findings.length === 0) return { added: [], more: 0 }
  const known = await store.listFindings(tx, pass)
  const byKey = new Map(known.map((finding) => [keyOf(finding), finding]))
  const found = [...new Map(findings.map((finding) => [keyOf(finding), finding])).entries()]
  const isNew = ([key]: (typeof found)[number]) => byKey.get(key)?.gone_at !== null
  const seen = found.flatMap(([key]) => byKey.get(key)?.id ?? [])
  const unknown = found.filter(([key]) => !byKey.has(key)).map(([, finding]) => finding)
  const stored = unknown.slice(0, MAX_STORED - known.length)
  await store.touchFindings(tx, seen)
  await store.insertFindings(tx, pass.epoch, stored)
  const lost = new Set(unknown.slice(stored.length))
  const added = found.filter(isNew).map(([, finding]) => finding)
  return {
    added: added.filter((finding) => !lost.has(finding)),
    more: lost.size + omitted,
  }
}

const keyOf = ({ kind, index, entry_id }: Pick<Finding, 'kind' | 'index' | 'entry_id'>): string =>
  `${kind}/${index}/${entry_id}`
