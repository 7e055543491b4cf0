import { admins } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { Stats, StatsQuery } from './stats.schema.ts'
import { parsePeriod, type StatsService } from './stats.service.ts'

export function statsOperations(stats: StatsService): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/stats',
      id: 'getStats',
      summary: 'Get counts over time',
      description:
        'Returns how often something happened in each hour or day: sign-ins, changes, reads of patients, payments, and webhook deliveries with their durations. Buckets without events are zeros. Counts appear a second or two after the event. An administrator sees their tenant. They count what happened: a restore does not change them.',
      tag: 'Health',
      access: admins,
      query: StatsQuery,
      list: true,
      refine: parsePeriod,
      success: [200, Stats],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => stats.read(caller, query, refined),
    }),
  ]
}
