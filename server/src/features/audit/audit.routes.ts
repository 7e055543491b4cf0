import { pageStartOf } from '../../lib/page.ts'
import { auditors } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { AuditActions, AuditPage, AuditQuery, auditList } from './audit.schema.ts'
import type { Audit } from './audit.service.ts'
import { parseFilters } from './filters.ts'

const TAG = 'Audit'

export function auditOperations(audit: Audit): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/audit',
      id: 'listAuditEntries',
      summary: 'List audit entries',
      description:
        'Returns a page of the audit log, latest first. Select entries by time, user, action, resource, request or address; all filters can be combined. An administrator sees the entries of their tenant.',

      tag: TAG,
      access: auditors,
      query: AuditQuery,
      list: true,
      refine: (given, refuse) => ({
        filters: parseFilters(given, refuse),
        from: pageStartOf(auditList, given, refuse),
      }),
      success: [200, AuditPage],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => audit.list(caller, query, refined),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/audit/actions',
      id: 'listAuditActions',
      summary: 'List the actions of audit entries',
      description:
        'Returns every action that an audit entry can have, with its meaning, its group and the type of resource that it is about.',
      tag: TAG,
      access: auditors,
      success: [200, AuditActions],
      handle: () => audit.actions,
    }),
  ]
}
