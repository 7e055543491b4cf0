/** The `/api/admin/tenants*` routes and the route of the public list. */
import Type from 'typebox'
import { admins, anyone, auditors, superadmins } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import {
  ListedTenant,
  NewTenant,
  PublicTenant,
  refuseSettings,
  Tenant,
  TenantChange,
  TenantPath,
  TenantQuery,
} from './tenants.schema.ts'
import type { Tenants } from './tenants.service.ts'

const tag = 'Tenants'

/** @param minRetentionDays the shortest retention of the audit log that a tenant can set, in days */
export function tenantOperations(tenants: Tenants, minRetentionDays: number): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/tenants',
      id: 'listTenants',
      summary: 'List tenants',
      description:
        'Returns the tenants by name: all for a superadmin, and only their own tenant for other callers. Without parameters, returns at most 1,000 tenants.',
      tag,
      access: auditors,
      query: TenantQuery,
      list: true,
      countsTotal: true,
      success: [200, Type.Array(ListedTenant)],
      handle: ({ caller, query }) => tenants.list(caller, query),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/tenants',
      id: 'createTenant',
      summary: 'Create a tenant',
      description:
        'Creates a tenant. Unknown settings are kept. A known setting with a wrong value is rejected.',
      records: ['tenant.created'],
      tag,
      access: superadmins,
      body: NewTenant,
      refine: ({ body }, refuse) => refuseSettings(body.settings, minRetentionDays, refuse),
      success: [201, Tenant],
      refusals: ['subdomain_taken'],
      example: {
        body: {
          name: 'North Clinic',
          subdomain: 'north',
          settings: { registration: 'approval', require_totp: ['admin'] },
        },
      },
      handle: ({ caller, body }) => tenants.create(caller, body),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/tenants/{tenant_id}',
      id: 'getTenant',
      summary: 'Get a tenant',
      description: 'Returns one tenant. Administrators and auditors can get only their own.',
      tag,
      access: auditors,
      params: TenantPath,
      success: [200, Tenant],
      refusals: ['not_found'],
      handle: ({ caller, path }) => tenants.get(caller, path.tenant_id),
    }),
    operation({
      method: 'PUT',
      path: '/api/admin/tenants/{tenant_id}',
      id: 'updateTenant',
      summary: 'Change a tenant',
      description:
        'Changes the fields that are sent. `settings` replaces all settings. Only a superadmin can activate or deactivate a tenant. Deactivating ends the sessions of its users.',
      records: ['tenant.updated', 'tenant.activated', 'tenant.deactivated'],
      tag,
      access: admins,
      params: TenantPath,
      body: TenantChange,
      refine: ({ body }, refuse) => refuseSettings(body.settings, minRetentionDays, refuse),
      success: [200, Tenant],
      refusals: ['not_found', 'superadmin_required', 'tenant_protected', 'last_superadmin'],
      example: { answer: { name: 'North Clinic Group' }, body: { name: 'North Clinic Group' } },
      handle: ({ caller, path, body }) => tenants.update(caller, path.tenant_id, body),
    }),
    operation({
      method: 'DELETE',
      path: '/api/admin/tenants/{tenant_id}',
      id: 'deleteTenant',
      summary: 'Delete a tenant',
      description:
        'Deletes the tenant and ends the sessions of its users. It can be restored until its data is purged.',
      records: ['tenant.deleted'],
      tag,
      access: superadmins,
      isFinal: true,
      params: TenantPath,
      success: [204, null],
      refusals: ['not_found', 'tenant_protected', 'last_superadmin'],
      handle: ({ caller, path }) => tenants.delete(caller, path.tenant_id),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/tenants/{tenant_id}/restore',
      id: 'restoreTenant',
      summary: 'Restore a deleted tenant',
      description:
        'Restores a deleted tenant whose data has not been purged. Its users can sign in again, and their earlier sessions stay ended.',
      records: ['tenant.restored'],
      tag,
      access: superadmins,
      params: TenantPath,
      success: [200, Tenant],
      refusals: ['not_found'],
      handle: ({ caller, path }) => tenants.restore(path.tenant_id, caller),
    }),
    operation({
      method: 'GET',
      path: '/api/auth/tenants',
      id: 'listPublicTenants',
      summary: 'List the tenants to sign in to',
      description:
        'Returns the active tenants that are listed publicly. A tenant with the setting `listed: false` is left out.',

      tag: 'Sign-in',
      access: anyone,
      success: [200, Type.Array(PublicTenant)],
      handle: () => tenants.listPublic(),
    }),
  ]
}
