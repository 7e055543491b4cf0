/** `/api/admin/audit`. */
import { readers } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { AuditPage, AuditQuery } from './audit.schema.ts'
import type { Audit } from './audit.service.ts'

export function auditOperations(audit: Audit): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/audit',
      id: 'listAuditEntries',
      summary: 'A page of the audit log, latest first',
      tag: 'Audit',
      access: readers,
      query: AuditQuery,
      success: [200, AuditPage],
      handle: ({ caller, query }) => audit.list(caller, query),
    }),
  ]
}
