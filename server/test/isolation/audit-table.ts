/** The access table of the audit log. */
import { atSealedLog, auditors, type Line, nothing, ofTenant } from './lines.ts'

export const AUDIT: readonly Line[] = [
  { name: 'GET /api/admin/audit', aim: ofTenant, own: auditors(200), foreign: auditors(200, 403) },
  {
    name: 'GET /api/admin/audit',
    what: 'of a user',
    aim: ({ userId }) => ({ query: { user_id: userId } }),
    own: auditors(200),
    foreign: auditors(200),
  },

  {
    name: 'GET /api/admin/audit',
    what: 'about a user',
    aim: ({ userId }) => ({ query: { about_user: userId } }),
    own: auditors(200),
    foreign: auditors(200),
  },
  { name: 'GET /api/admin/audit/actions', aim: nothing, own: auditors(200) },
  { name: 'GET /api/admin/audit/heads', aim: nothing, own: auditors(200) },
  {
    name: 'GET /api/admin/audit/verify',
    aim: ofTenant,
    own: auditors(200),
    foreign: auditors(200, 403),
  },
  {
    name: 'POST /api/admin/audit/verify',
    aim: ofTenant,
    own: auditors(202),
    foreign: auditors(202, 403),
  },
  {
    name: 'GET /api/admin/audit/proof/{entry_id}',
    aim: ({ sealedEntryId }) => ({ path: { entry_id: sealedEntryId } }),
    own: auditors(200),
    foreign: auditors(200, 404),
  },
  {
    name: 'GET /api/admin/audit/log/{tenant_id}/checkpoint',
    aim: atSealedLog,
    own: auditors(200),
    foreign: auditors(200, 404),
  },
  {
    name: 'GET /api/admin/audit/log/{tenant_id}/checkpoint',
    what: 'of entries without a tenant',
    aim: () => ({ path: { tenant_id: 0 } }),
    own: auditors(200, 404),
  },
  {
    name: 'GET /api/admin/audit/log/{tenant_id}/tile/{tile}',
    aim: atSealedLog,
    own: auditors(200),
    foreign: auditors(200, 404),
  },
  {
    name: 'GET /api/admin/audit/log/{tenant_id}/tile/{tile}',
    what: 'with the content of leaves',
    aim: ({ tenantId }) => ({ path: { tenant_id: tenantId, tile: 'entries/000.p/1' } }),
    own: auditors(200),
    foreign: auditors(200, 404),
  },
  {
    name: 'GET /api/admin/audit/export',
    aim: ofTenant,
    own: auditors(200),
    foreign: auditors(200, 403),
  },
  {
    name: 'GET /api/admin/audit/export',
    what: 'about a user, as JSON lines',
    aim: ({ userId }) => ({ query: { about_user: userId, format: 'ndjson' } }),
    own: auditors(200),
    foreign: auditors(200),
  },
]
