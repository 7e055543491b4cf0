/** The service's state on the wire. */
import Type, { type Static } from 'typebox'
import { OneOf } from '../../lib/shapes.ts'

const State = OneOf(['ok', 'degraded', 'down'])

/** What is counted, each by a feature. */
export const COUNTS = {
  tenants_count: Type.Integer(),
  users_count: Type.Integer(),
  patients_count: Type.Integer(),
}

export const AdminHealth = Type.Object(
  {
    status: State,
    tenant_mode: Type.Boolean({ description: 'true when there may be several tenants' }),
    encryption_enabled: Type.Boolean(),
    ...COUNTS,
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

/** What people can use, each as a feature says. */
export const Capabilities = Type.Object(
  {
    password_reset_available: Type.Boolean(),
    fhir_enabled: Type.Boolean(),
    siem_export_enabled: Type.Boolean(),
    messenger_bot_enabled: Type.Boolean(),
    registration_available: Type.Boolean(),
    totp_available: Type.Boolean(),
    tenant_mode: Type.Boolean({ description: 'true when there may be several tenants' }),
    demo_mode: Type.Boolean({ description: 'true when a demo tenant is kept' }),
  },
  { $id: 'Capabilities' },
)
export type Capabilities = Static<typeof Capabilities>

export const Alive = Type.Object({ status: Type.Literal('ok') })
export const Ready = Type.Object({ status: Type.Literal('ready') })
