/** The `/api/admin/tenants*` routes and the route of the public list. */
import Type from 'typebox'
import { admins, anyone, auditors, superadmins } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import {
  NewTenant,
  PublicTenant,
  refuseMisspelt,
  Tenant,
  TenantChange,
  TenantPath,
} from './tenants.schema.ts'
import type { Tenants } from './tenants.service.ts'

const tag = 'Tenants'

export function tenantOperations(tenants: Tenants): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/tenants',
      id: 'listTenants',
      summary: 'List tenants',
      description:
        'Returns every tenant for a superadmin, and only their own tenant for other callers.',

      tag,
      access: auditors,
      list: true,
      success: [200, Type.Array(Tenant)],
      handle: ({ caller }) => tenants.list(caller),
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
      refine: ({ body }, refuse) => refuseMisspelt(body.settings, refuse),
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
      refine: ({ body }, refuse) => refuseMisspelt(body.settings, refuse),
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
        'Deletes the tenant and ends the sessions of its users. The operator can restore it until its data is purged.',
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
