/** `/api/admin/tenants*` and the public list. */
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
      summary: 'The tenants: all for a superadmin, else the own one',
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
      summary: 'Creates a tenant',
      tag,
      access: superadmins,
      body: NewTenant,
      refine: ({ body }, refuse) => refuseMisspelt(body.settings, refuse),
      success: [201, Tenant],
      refusals: ['subdomain_taken'],
      handle: ({ caller, body }) => tenants.create(caller, body),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/tenants/{tenant_id}',
      id: 'getTenant',
      summary: 'One tenant',
      tag,
      access: admins,
      params: TenantPath,
      success: [200, Tenant],
      refusals: ['not_found'],
      handle: ({ caller, path }) => tenants.get(caller, path.tenant_id),
    }),
    operation({
      method: 'PUT',
      path: '/api/admin/tenants/{tenant_id}',
      id: 'updateTenant',
      summary: 'Changes a tenant; what is left out stays. Deactivating signs its users out',
      tag,
      access: admins,
      params: TenantPath,
      body: TenantChange,
      refine: ({ body }, refuse) => refuseMisspelt(body.settings, refuse),
      success: [200, Tenant],
      refusals: ['not_found', 'superadmin_required', 'tenant_protected', 'last_superadmin'],
      handle: ({ caller, path, body }) => tenants.update(caller, path.tenant_id, body),
    }),
    operation({
      method: 'DELETE',
      path: '/api/admin/tenants/{tenant_id}',
      id: 'deleteTenant',
      summary: 'Deletes a tenant and signs its users out; restorable until it is purged',
      tag,
      access: superadmins,
      params: TenantPath,
      success: [204, null],
      refusals: ['not_found', 'tenant_protected', 'last_superadmin'],
      handle: ({ caller, path }) => tenants.delete(caller, path.tenant_id),
    }),
    operation({
      method: 'GET',
      path: '/api/auth/tenants',
      id: 'listPublicTenants',
      summary: 'The tenants to choose from at sign-in',
      tag: 'Sign-in',
      access: anyone,
      success: [200, Type.Array(PublicTenant)],
      handle: () => tenants.listPublic(),
    }),
  ]
}
