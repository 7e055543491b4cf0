/** `/api/admin/audit`. */
import { startOf } from '../../lib/page.ts'
import { spanOf } from '../../lib/span.ts'
import { auditors } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { AuditPage, AuditQuery, auditList } from './audit.schema.ts'
import type { Audit } from './audit.service.ts'
import { namedActions } from './named-actions.ts'

export function auditOperations(audit: Audit): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/audit',
      id: 'listAuditEntries',
      summary: 'List audit entries',
      description:
        'Returns a page of the audit log, latest first. Select entries by time, user, action or resource. An administrator sees the entries of their tenant.',

      tag: 'Audit',
      access: auditors,
      query: AuditQuery,
      list: true,
      refine: (given, refuse) => {
        const { from_date, to_date, resource_id, resource_type, action } = given.query
        if (resource_id !== undefined && resource_type === undefined)
          if (!given.faulty.has('query.resource_type'))
            refuse(['query', 'resource_id'], 'resource_id is asked for together with resource_type')
        return {
          actions: namedActions(action, refuse),
          span: spanOf(from_date, to_date, refuse),
          from: startOf(auditList, given, refuse),
        }
      },
      success: [200, AuditPage],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => audit.list(caller, query, refined),
    }),
  ]
}
