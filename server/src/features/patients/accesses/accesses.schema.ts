/** Request and response schemas for the list of accesses to a patient's record. */
import Type, { type Static } from 'typebox'
import { defineList, pageOf } from '../../../lib/page.ts'
import { ROLES } from '../../../lib/roles.ts'
import { Id, Nullable, OneOf, Timestamp } from '../../../lib/shapes.ts'
import { Patient } from '../patients.schema.ts'

const Grant = Type.Object({
  id: Id,
  purpose: Type.String(),
  reason: Nullable(Type.String(), {
    description: 'Null if it cannot be decrypted.',
  }),
  granted_at: Timestamp,
  expires_at: Timestamp,
  ended_at: Nullable(Timestamp),
})

export const Access = Type.Object(
  {
    id: Id,
    action: Type.String({
      examples: ['patient.read'],
      description: 'The action in the audit log, such as `patient.read` or `patient.updated`.',
    }),
    user_id: Nullable(Id),
    user_email: Nullable(Type.String({ examples: ['dora.doctor@north.example'] })),
    user_name: Nullable(Type.String({ examples: ['Dora Doctor'] }), {
      description: 'The current name. Null once the user is deleted.',
    }),
    user_role: Nullable(OneOf(ROLES), { description: 'The current role.' }),
    created_at: Timestamp,
    ip: Nullable(Type.String({ examples: ['203.0.113.7'] })),
    user_agent: Nullable(Type.String({ examples: ['Mozilla/5.0'] })),
    request_id: Nullable(Type.String({ examples: ['0c1d2e3f-4a5b-4c0e-9a53-7d1f0c9e4b5c'] })),
    fields: Type.Optional(
      Type.Array(Type.String(), { description: 'The changed fields, for a change.' }),
    ),
    grant: Type.Optional(Grant),
  },
  { $id: 'PatientAccess' },
)
export type Access = Static<typeof Access>

export const AccessPage = pageOf(Access)

export const accessList = defineList(
  'patient accesses',
  { created_at: 'time', id: 'integer' },
  { sort_by: 'created_at', sort_order: 'desc' },
)

export const AccessQuery = Type.Object({ ...accessList.query })
export type AccessQuery = Static<typeof AccessQuery>

/** The JSON file that an export of a patient's record contains. */
export const PatientExport = Type.Object(
  { exported_at: Timestamp, patient: Patient, accesses: Type.Array(Access) },
  { $id: 'PatientExport' },
)
