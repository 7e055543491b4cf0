import { isIP } from 'node:net'
import type { Refuse } from '../../lib/problems.ts'
import { type Span, spanOf } from '../../lib/span.ts'
import type { Action } from '../../platform/journal/index.ts'
import type { AuditFilters } from './audit.schema.ts'
import { namedActions } from './named-actions.ts'

/** The filters that must be parsed before use. The other filters are used exactly as in the query. */
export interface ParsedFilters {
  /** The actions to include; undefined for all actions. */
  actions?: readonly Action[] | undefined
  span?: Span
}

interface AuditFilterInput {
  query: Partial<AuditFilters>
  faulty: ReadonlySet<string>
}

/** Parses the filters of a query. Calls `refuse` for values that match the schema but are invalid. */
export function parseFilters({ query, faulty }: AuditFilterInput, refuse: Refuse): ParsedFilters {
  const { from_date, to_date, resource_id, resource_type, ip } = query
  if (resource_id !== undefined && resource_type === undefined)
    if (!faulty.has('query.resource_type'))
      refuse(['query', 'resource_id'], 'send resource_id together with resource_type')
  if (ip !== undefined && !isIP(ip))
    refuse(['query', 'ip'], 'not a valid IP address. Send one such as 203.0.113.7 or 2001:db8::1')
  return { actions: namedActions(query, refuse), span: spanOf(from_date, to_date, refuse) }
}
