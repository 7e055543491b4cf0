/** The service's state on the wire. */
import Type, { type Static } from 'typebox'
import { OneOf } from '../../lib/shapes.ts'

const State = OneOf(['ok', 'degraded', 'down'])

export const AdminHealth = Type.Object(
  {
    status: State,
    tenant_mode: Type.Boolean({ description: 'true when there may be several tenants' }),
    encryption_enabled: Type.Boolean(),
    tenants_count: Type.Integer(),
    users_count: Type.Integer(),
    patients_count: Type.Integer(),
    version: Type.String(),
    uptime_seconds: Type.Integer(),
    database: Type.Object({
      engine: Type.String(),
      embedded: Type.Boolean(),
      latency_ms: Type.Number(),
    }),
    checks: Type.Record(Type.String(), State, { description: 'the state of each component' }),
  },
  { $id: 'AdminHealth' },
)
export type AdminHealth = Static<typeof AdminHealth>

export const Alive = Type.Object({ status: Type.Literal('ok') })
export const Ready = Type.Object({ status: Type.Literal('ready') })
