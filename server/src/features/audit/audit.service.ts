/** Reads the journal for those who audit. */
import { DAY } from '../../lib/clock.ts'
import { instantOf, isBareDate } from '../../lib/instant.ts'
import { type Page, toPage } from '../../lib/page.ts'
import { invalidValue } from '../../lib/problems.ts'
import { ownTenant, type Reader } from '../../platform/access/index.ts'
import { forCaller, type Scopes } from '../../platform/db/index.ts'
import type { AuditEntry, AuditQuery } from './audit.schema.ts'
import * as store from './audit.store.ts'

export interface Audit {
  list(caller: Reader, query: AuditQuery): Promise<Page<AuditEntry>>
}

export function auditService(db: Scopes): Audit {
  return {
    async list(caller, query) {
      const span = spanOf(query.from_date, query.to_date)
      ownTenant(caller, query.tenant_id)
      const found = await forCaller(db, caller, (tx) => store.listEntries(tx, query, span), 'read')
      return toPage(query, found)
    },
  }
}

/**
 * Both ends are inclusive: a bare date covers its whole UTC day, and a time its whole millisecond,
 * which is as fine as entries are dated.
 * @throws InvalidInput when `from` comes after `to`
 */
export function spanOf(from?: string, to?: string): store.Span {
  const start = from === undefined ? undefined : instantOf(from)
  const end = to === undefined ? undefined : instantOf(to) + (isBareDate(to) ? DAY : 1)
  if (start !== undefined && end !== undefined && start >= end)
    throw invalidValue(['query', 'from_date'], 'from_date must not be after to_date')
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
