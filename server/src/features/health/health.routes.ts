/** Routes for the health report (`/api/admin/health`), the capabilities, and the liveness and readiness probes. */
import { admins, anyone } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { AdminHealth, Alive, Capabilities, Ready } from './health.schema.ts'
import type { Health } from './health.service.ts'

const tag = 'Health'

export function healthOperations(health: Health, capabilities: () => Capabilities): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/auth/capabilities',
      id: 'getCapabilities',
      summary: 'Get what the service offers',
      description:
        'Returns the optional features that this service is configured for, so that a client can hide the others.',

      tag: 'Sign-in',
      access: anyone,
      success: [200, Capabilities],
      handle: capabilities,
    }),
    operation({
      method: 'GET',
      path: '/api/admin/health',
      id: 'getHealth',
      summary: 'Get the health of the service',
      description:
        'Returns the state of every component and counts of records. The counts of an administrator cover their tenant.',

      tag,
      access: admins,
      success: [200, AdminHealth],
      handle: ({ caller }) => health.report(caller),
    }),
    operation({
      method: 'GET',
      path: '/healthz',
      id: 'getAlive',
      duringMaintenance: true,
      summary: 'Check liveness',
      description: 'Returns 200 as long as the process can respond. Does not use the database.',

      tag,
      access: anyone,
      success: [200, Alive],
      handle: () => ({ status: 'ok' as const }),
    }),
    operation({
      method: 'GET',
      path: '/readyz',
      id: 'getReady',
      duringMaintenance: true,
      summary: 'Check readiness',
      description:
        'Returns 200 if the service accepts requests and reaches its database, otherwise 503.',

      tag,
      access: anyone,
      success: [200, Ready],
      refusals: ['stopping'],
      handle: async () => {
        await health.ready()
        return { status: 'ready' as const }
      },
    }),
  ]
}
