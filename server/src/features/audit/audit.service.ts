/** Reads the journal for those who audit. */
import type { Cursor } from '../../lib/cursor.ts'
import { type Page, toPage } from '../../lib/page.ts'
import type { Span } from '../../lib/span.ts'
import { type Auditor, requireOwnTenant } from '../../platform/access/index.ts'
import { inScope, listMode, type Scopes, scopeOf } from '../../platform/db/index.ts'
import { writeSeenRefusals } from '../../platform/journal/index.ts'
import { type AuditEntry, type AuditQuery, auditList } from './audit.schema.ts'
import * as store from './audit.store.ts'

/** What a query means: the time that it spans, and where its page begins. */
interface Looked {
  /** Undefined for all. */
  actions: readonly string[] | undefined
  span: Span
  from: Cursor | undefined
}

export interface Audit {
  list(caller: Auditor, query: AuditQuery, looked: Looked): Promise<Page<AuditEntry>>
}

export function auditService(db: Scopes): Audit {
  return {
    async list(caller, query, { actions, span, from }) {
      requireOwnTenant(caller, query.tenant_id)
      await writeSeenRefusals(db, caller)
      const asked = { list: auditList, caller, query, from }
      const found = await inScope(
        db,
        scopeOf(caller, query.tenant_id),
        (tx) => store.listEntries(tx, asked, { actions, span }),
        // Of one tenant no index has the order by id: what is best depends on how many entries it has.
        query.sort_by === 'id' ? 'filtered list' : listMode(query),
      )
      return toPage(asked, found)
    },
  }
}
