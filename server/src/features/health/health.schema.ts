/** The service's state on the wire. */
import Type, { type Static } from 'typebox'
import { OneOf } from '../../lib/shapes.ts'

const State = OneOf(['ok', 'degraded', 'down'])

/** What is counted, each by a feature. */
export const COUNTS = {
  tenants_count: Type.Integer({ examples: [3] }),
  users_count: Type.Integer({ examples: [128] }),
  patients_count: Type.Integer({ examples: [20000] }),
}

export const AdminHealth = Type.Object(
  {
    status: State,
    tenant_mode: Type.Boolean({ description: 'true when there may be several tenants' }),
    encryption_enabled: Type.Boolean({ examples: [true] }),
    ...COUNTS,
    version: Type.String({ examples: ['1.0.0'] }),
    uptime_seconds: Type.Integer({ examples: [86400] }),
    database: Type.Object({
      engine: Type.String({ examples: ['PostgreSQL 18.1'] }),
      embedded: Type.Boolean(),
      latency_ms: Type.Number({ examples: [0.4] }),
    }),
    checks: Type.Record(Type.String(), State, { description: 'the state of each component' }),
  },
  { $id: 'AdminHealth' },
)
export type AdminHealth = Static<typeof AdminHealth>

/** What people can use, each as a feature says. */
export const Capabilities = Type.Object(
  {
    password_reset_available: Type.Boolean({ examples: [true] }),
    fhir_enabled: Type.Boolean(),
    siem_export_enabled: Type.Boolean(),
    messenger_bot_enabled: Type.Boolean(),
    registration_available: Type.Boolean({ examples: [true] }),
    totp_available: Type.Boolean({ examples: [true] }),
    tenant_mode: Type.Boolean({ description: 'true when there may be several tenants' }),
    demo_mode: Type.Boolean({ description: 'true when a demo tenant is kept' }),
  },
  { $id: 'Capabilities' },
)
export type Capabilities = Static<typeof Capabilities>

export const Alive = Type.Object({ status: Type.Literal('ok') })
export const Ready = Type.Object({ status: Type.Literal('ready') })
