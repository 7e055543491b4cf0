/** Lists the entries of the audit log for auditors. */
import type { Cursor } from '../../lib/cursor.ts'
import { type Page, toPage } from '../../lib/page.ts'
import { type Auditor, requireOwnTenant } from '../../platform/access/index.ts'
import { inScope, listMode, type Scopes, scopeOf } from '../../platform/db/index.ts'
import {
  ACTIONS,
  type Action,
  groupOf,
  resourceTypeOf,
  writeVisibleRefusals,
} from '../../platform/journal/index.ts'
import { type AuditAction, type AuditEntry, type AuditQuery, auditList } from './audit.schema.ts'
import * as store from './audit.store.ts'
import type { ParsedFilters } from './filters.ts'
import { addNames } from './names.store.ts'

interface ParsedQuery {
  filters: ParsedFilters
  from: Cursor | undefined
}

export interface Audit {
  list(caller: Auditor, query: AuditQuery, parsed: ParsedQuery): Promise<Page<AuditEntry>>
  /** All actions that the journal can contain, in the order of the registry. */
  readonly actions: AuditAction[]
}

export function auditService(db: Scopes): Audit {
  return {
    async list(caller, query, { filters, from }) {
      requireOwnTenant(caller, query.tenant_id)
      await writeVisibleRefusals(db, caller)
      const asked = { list: auditList, caller, query, from }
      const found = await inScope(
        db,
        scopeOf(caller, query.tenant_id),
        async (tx) => {
          const stored = await store.listEntries(tx, asked, filters)
          return { ...stored, items: await addNames(tx, stored.items) }
        },
        // No index has one tenant's entries in the order of ids, so the best plan depends on the number of matches.
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
