/** `/api/admin/health`, and the probes for whoever keeps the service running. */
import { admins, anyone } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { AdminHealth, Alive, Ready } from './health.schema.ts'
import type { Health } from './health.service.ts'

const tag = 'Health'

export function healthOperations(health: Health): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/health',
      id: 'getHealth',
      summary: "The state of the service; an admin's counts cover their tenant",
      tag,
      access: admins,
      success: [200, AdminHealth],
      handle: ({ caller }) => health.report(caller),
    }),
    operation({
      method: 'GET',
      path: '/healthz',
      id: 'getAlive',
      summary: 'The process is alive',
      tag,
      access: anyone,
      success: [200, Alive],
      handle: () => ({ status: 'ok' as const }),
    }),
    operation({
      method: 'GET',
      path: '/readyz',
      id: 'getReady',
      summary: 'The service can answer: it is not stopping, and the database is there',
      tag,
      access: anyone,
      success: [200, Ready],
      handle: async () => {
        await health.ready()
        return { status: 'ready' as const }
      },
    }),
  ]
}
