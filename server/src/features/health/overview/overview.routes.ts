import { admins } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { OverviewQuery, type overviewSchema } from './overview.schema.ts'
import type { OverviewService } from './overview.service.ts'

export function overviewOperations(
  overview: OverviewService,
  schema: ReturnType<typeof overviewSchema>,
): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/overview',
      id: 'getOverview',
      summary: 'Get the overview',
      description:
        'Returns what may need attention, numbers of records, the latest changes and the state of every component. The call stays fast on large tenants. Counts above 10,000 are estimates. An administrator sees their tenant. A superadmin also sees the data of the installation: its backup jobs, repairs, key rotation, and payment notifications without a tenant. For the platform tenant, superadmins see the repairs and payment notifications of all tenants.',
      tag: 'Health',
      access: admins,
      query: OverviewQuery,
      list: true,
      success: [200, schema],
      refusals: ['other_tenant', 'not_found'],
      handle: ({ caller, query }) => overview.read(caller, query),
    }),
  ]
}
