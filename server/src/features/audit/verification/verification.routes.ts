import { auditors } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { AuditVerifications, VerifyQuery } from './verification.schema.ts'
import type { AuditVerificationService } from './verification.service.ts'

export function verificationOperations(service: AuditVerificationService): AnyOperation[] {
  const common = {
    tag: 'Audit',
    access: auditors,
    path: '/api/admin/audit/verify',
    query: VerifyQuery,
    refusals: ['other_tenant'],
  } as const
  return [
    operation({
      ...common,
      method: 'GET',
      id: 'listAuditVerifications',
      summary: 'Get the state of the audit logs',
      description:
        'Returns when the service last verified the transparency log of each tenant, and what it found. It verifies every log within 30 days, from the newest entry down. An administrator gets the log of their tenant, a superadmin those of the first 1,000 tenants.',
      list: true,
      success: [200, AuditVerifications],
      handle: ({ caller, query }) => service.list(caller, query),
    }),
    operation({
      ...common,
      method: 'POST',
      id: 'verifyAuditLogs',
      summary: 'Verify the audit logs now',
      description:
        'Starts a verification of the transparency log in the background, for superadmins of all logs, and returns the state. While a requested verification runs, another request does not start a second one.',
      success: [202, AuditVerifications],
      handle: ({ caller, query }) => service.start(caller, query),
    }),
  ]
}
