/** Reads the journal for those who audit. */
import type { Cursor } from '../../lib/cursor.ts'
import { type Page, toPage } from '../../lib/page.ts'
import { type Auditor, requireOwnTenant } from '../../platform/access/index.ts'
import { inScope, listMode, type Scopes, scopeOf } from '../../platform/db/index.ts'
import {
  ACTIONS,
  type Action,
  groupOf,
  resourceTypeOf,
  writeSeenRefusals,
} from '../../platform/journal/index.ts'
import { type AuditAction, type AuditEntry, type AuditQuery, auditList } from './audit.schema.ts'
import * as store from './audit.store.ts'
import type { ParsedFilters } from './filters.ts'
import { addNames } from './names.store.ts'

/** The parsed filters of a query, and where its page begins. */
interface ParsedQuery {
  filters: ParsedFilters
  from: Cursor | undefined
}

export interface Audit {
  list(caller: Auditor, query: AuditQuery, parsed: ParsedQuery): Promise<Page<AuditEntry>>
  /** Every action of the registry, in its order. */
  readonly actions: AuditAction[]
}

/** Returns the service of the audit log. */
export function auditService(db: Scopes): Audit {
  return {
    async list(caller, query, { filters, from }) {
      requireOwnTenant(caller, query.tenant_id)
      await writeSeenRefusals(db, caller)
      const asked = { list: auditList, caller, query, from }
      const found = await inScope(
        db,
        scopeOf(caller, query.tenant_id),
        async (tx) => {
          const stored = await store.listEntries(tx, asked, filters)
          return { ...stored, items: await addNames(tx, stored.items) }
        },
        // Of one tenant no index has the order by id: what is best depends on how many entries it has.
        query.sort_by === 'id' ? 'filtered list' : listMode(query),
      )
      return toPage(asked, found)
    },

    actions: (Object.keys(ACTIONS) as Action[]).map((action) => ({
      action,
      meaning: ACTIONS[action].meaning,
      group: groupOf(action),
      resource_type: resourceTypeOf(action),
    })),
  }
}
