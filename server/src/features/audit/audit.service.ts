/** Reads the journal for those who audit. */
import { DAY } from '../../lib/clock.ts'
import type { Cursor } from '../../lib/cursor.ts'
import { instantOf, isBareDate } from '../../lib/instant.ts'
import { type Page, toPage } from '../../lib/page.ts'
import type { Refuse } from '../../lib/problems.ts'
import { type Auditor, requireOwnTenant } from '../../platform/access/index.ts'
import { inScope, listMode, type Scopes, scopeOf } from '../../platform/db/index.ts'
import { writeSeenRefusals } from '../../platform/journal/index.ts'
import { type AuditEntry, type AuditQuery, auditList } from './audit.schema.ts'
import * as store from './audit.store.ts'

/** What a query means: the time that it spans, and where its page begins. */
interface Looked {
  span: store.Span
  from: Cursor | undefined
}

export interface Audit {
  list(caller: Auditor, query: AuditQuery, looked: Looked): Promise<Page<AuditEntry>>
}

export function auditService(db: Scopes): Audit {
  return {
    async list(caller, query, { span, from }) {
      requireOwnTenant(caller, query.tenant_id)
      await writeSeenRefusals(db, caller)
      const asked = { list: auditList, caller, query, from }
      const found = await inScope(
        db,
        scopeOf(caller, query.tenant_id),
        (tx) => store.listEntries(tx, asked, span),
        // Of one tenant no index has the order by id: what is best depends on how many entries it has.
        query.sort_by === 'id' ? 'filtered list' : listMode(query),
      )
      return toPage(asked, found)
    },
  }
}

/**
 * Both ends are inclusive: a bare date covers its whole UTC day, and a time its whole millisecond,
 * which is as fine as entries are dated. Refused when `from` comes after `to`.
 */
export function spanOf(
  from: string | undefined,
  to: string | undefined,
  refuse: Refuse,
): store.Span {
  const start = from === undefined ? undefined : instantOf(from)
  const end = to === undefined ? undefined : instantOf(to) + (isBareDate(to) ? DAY : 1)
  if (start !== undefined && end !== undefined && start >= end)
    refuse(['query', 'from_date'], 'from_date must not be after to_date')
  return {
    ...(start === undefined ? {} : { from: iso(start) }),
    ...(end === undefined ? {} : { until: iso(end) }),
  }
}

/** An offset or the end of a day may lead out of the years that the database can hold. */
function iso(time: number): string {
  const [first, last] = ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']
  return time < Date.parse(first)
    ? first
    : time > Date.parse(last)
      ? last
      : new Date(time).toISOString()
}
