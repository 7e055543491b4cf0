/** `/api/admin/health`, what the service offers, and the probes for whoever keeps it running. */
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
      summary: 'What this service offers as it is configured',
      tag: 'Sign-in',
      access: anyone,
      success: [200, Capabilities],
      handle: capabilities,
    }),
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
      whileClosed: true,
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
      whileClosed: true,
      summary: 'The service can answer: it is not stopping, and the database is there',
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
