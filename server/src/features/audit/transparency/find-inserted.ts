/** Finds what stands outside a log: entries without a leaf, and leaves after its end. */
import type { Span } from '../../../lib/span.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Findings } from '../offline/index.ts'
import type { LogRow } from './logs.store.ts'
import * as store from './read-log.store.ts'

/** The number of journal entries that one statement compares with the leaves. */
const PAGE_SIZE = 5_000

/** Finds entries of a span of time that appeared in the journal behind the sealer. */
export async function findInserted(
  tx: TenantTx,
  log: LogRow,
  { from = '-infinity', until = 'infinity' }: Span,
  findings: Findings,
): Promise<void> {
  let after: store.JournalKey | null = { created_at: from, id: 0 }
  while (after) {
    const page: Awaited<ReturnType<typeof store.findUnsealed>> = await store.findUnsealed(tx, log, {
      after,
      until,
      limit: PAGE_SIZE,
    })
    for (const entry_id of page.ids)
      findings.add({
        kind: 'inserted',
        tenant_id: log.tenant_id,
        index: null,
        entry_id,
        detail: 'the journal has it, but the tree has no leaf for it',
      })
    after = page.last
  }
}

/** Finds leaves after the end of a log. */
export async function findBeyond(tx: TenantTx, log: LogRow, findings: Findings): Promise<void> {
  const beyond = await store.countLeavesAfter(tx, log)
  if (beyond === 0) return
  findings.add({
    kind: 'inserted',
    tenant_id: log.tenant_id,
    index: log.size,
    entry_id: null,
    detail: `${beyond} leaves stand after the end of the log`,
  })
}
