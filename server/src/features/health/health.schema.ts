import Type, { type Static } from 'typebox'
import { Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'

export const StateSchema = OneOf(['ok', 'degraded', 'down'])

export const Component = Type.Object(
  {
    name: Type.String({ examples: ['backups'] }),
    state: StateSchema,
    reason: Nullable(
      Type.String({
        description: 'Why it is not `ok`, or what `ok` does not cover.',
        examples: ['The newest verified backup is older than two intervals of BACKUP_SCHEDULE.'],
      }),
    ),
    since: Nullable(Timestamp, {
      description: 'Since when the component has been in this state, if known.',
    }),
    runbook: Nullable(
      Type.String({
        description: 'The runbook for this problem, a page in `docs/runbooks`.',
        examples: ['backups.md'],
      }),
    ),
  },
  { $id: 'HealthComponent' },
)
export type Component = Static<typeof Component>

/** The counts in the health report. Exactly one feature provides each count. */
export const COUNTS = {
  tenants_count: Type.Integer({ examples: [3] }),
  users_count: Type.Integer({ examples: [128] }),
  patients_count: Type.Integer({ examples: [20000] }),
}

export const AdminHealth = Type.Object(
  {
    status: StateSchema,
    tenant_mode: Type.Boolean({ description: 'True if the service can have several tenants.' }),
    encryption_enabled: Type.Boolean({ examples: [true] }),
    ...COUNTS,
    version: Type.String({ examples: ['1.0.0'] }),
    uptime_seconds: Type.Integer({ examples: [86400] }),
    database: Type.Object({
      engine: Type.String({ examples: ['PostgreSQL 18.1'] }),
      embedded: Type.Boolean(),
      latency_ms: Type.Number({ examples: [0.4] }),
    }),
    checks: Type.Record(Type.String(), StateSchema, {
      description: 'The state of each component.',
    }),
    components: Type.Array(Component, {
      description: 'The components, with the reason, the time and the runbook of each problem.',
    }),
  },
  { $id: 'AdminHealth' },
)
export type AdminHealth = Static<typeof AdminHealth>

/** The optional capabilities of the service. Exactly one feature reports each capability. */
export const Capabilities = Type.Object(
  {
    password_reset_available: Type.Boolean({ examples: [true] }),
    fhir_enabled: Type.Boolean(),
    siem_export_enabled: Type.Boolean(),
    messenger_bot_enabled: Type.Boolean(),
    registration_available: Type.Boolean({ examples: [true] }),
    totp_available: Type.Boolean({ examples: [true] }),
    tenant_mode: Type.Boolean({ description: 'True if the service can have several tenants.' }),
    demo_mode: Type.Boolean({ description: 'True if the service provides a demo tenant.' }),
  },
  { $id: 'Capabilities' },
)
export type Capabilities = Static<typeof Capabilities>

export const Alive = Type.Object({ status: Type.Literal('ok') })
export const Ready = Type.Object({ status: Type.Literal('ready') })
