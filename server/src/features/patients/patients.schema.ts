import Type, { type Static } from 'typebox'
import { defineList, pageOf } from '../../lib/page.ts'
import {
  CalendarDate,
  ContactAddress,
  described,
  Id,
  idOf,
  Name,
  Nullable,
  numberLine,
  OneOf,
  Timestamp,
} from '../../lib/shapes.ts'
import { SEXES } from './records/fields.ts'

const MAX_IDENTIFIERS = 20
const MAX_ALLERGIES = 100

/** Matches the separator of system and value, and its full-width form, which normalization turns into `|`. */
const SEPARATORS = '|\\uff5c'

/** An identifier. In the text form `system|value`, the first `|` ends the system, so a system must not contain `|`. */
const Identifier = Type.Object({
  system: numberLine(200, SEPARATORS, {
    description: 'The issuer, without `|`.',
    examples: ['urn:north:chart'],
  }),
  value: numberLine(100, '', { examples: ['A-1042'] }),
})
const Allergy = Type.String({
  minLength: 1,
  maxLength: 200,
  trim: true,
  examples: ['Penicillin'],
})

/** The encrypted fields of a patient, except the clinical fields. */
const fields = {
  full_name: { ...Name, examples: ['Paula Patient'] },
  birth_date: Nullable(CalendarDate, { examples: ['1984-03-09'] }),
  sex: Nullable(OneOf(SEXES, { examples: ['female'] })),
  identifiers: Type.Array(Identifier, { maxItems: MAX_IDENTIFIERS }),
  phone: Nullable(numberLine(40, '', { examples: ['+49 30 5550123'] })),
  email: Nullable(ContactAddress),
  address: Nullable(
    Type.String({
      minLength: 1,
      maxLength: 500,
      trim: true,
      examples: ['12 Station Road, Northtown'],
    }),
  ),
}

const clinicalFields = {
  allergies: Type.Optional(Type.Array(Allergy, { maxItems: MAX_ALLERGIES })),
  notes: Type.Optional(
    Nullable(Type.String({ maxLength: 20_000, examples: ['Pacemaker since 2019'] })),
  ),
}

const place = {
  id: Id,
  tenant_id: Id,
  department_id: Nullable(Id),
  attending_doctor_id: Nullable(Id),
  version: Type.Integer({ minimum: 1 }),
  created_at: Timestamp,
  updated_at: Timestamp,
  deleted_at: Nullable(Timestamp),
}

/** The fields that the caller's role may not see. They are absent, because null means "no value". */
const redacted = Type.Optional(
  Type.Array(Type.String(), {
    description: 'The fields that are hidden from the role of the caller.',
  }),
)

export const Patient = Type.Object(
  { ...place, ...fields, ...clinicalFields, redacted },
  { $id: 'Patient' },
)
export type Patient = Static<typeof Patient>

export const CreatedPatient = Type.Object(
  {
    ...Patient.properties,
    possible_duplicates: Type.Array(Id, {
      description: 'Visible patients with the same name and birth date.',
      examples: [[]],
    }),
  },
  { $id: 'CreatedPatient' },
)
export type CreatedPatient = Static<typeof CreatedPatient>

export const ListedPatient = Type.Object(
  {
    ...place,
    ...Type.Partial(Type.Object(fields)).properties,
    ...clinicalFields,
    redacted,
    unreadable: Type.Optional(
      Type.Boolean({
        description: 'True if encrypted fields cannot be decrypted. They are left out.',
      }),
    ),
  },
  { $id: 'ListedPatient' },
)
export type ListedPatient = Static<typeof ListedPatient>

export const PatientPage = pageOf(ListedPatient)

export const patientList = defineList(
  'patients',
  { id: 'integer', created_at: 'time', updated_at: 'time' },
  { sort_by: 'id', sort_order: 'asc' },
)

export const PatientQuery = Type.Object({
  department_id: Type.Optional(described(Id, 'Only patients of this department.')),
  attending_doctor_id: Type.Optional(described(Id, 'Only patients of this doctor.')),
  birth_date: Type.Optional(described(CalendarDate, 'Only patients born on this day.')),
  search: Type.Optional(
    Type.String({
      maxLength: 301,
      trim: true,
      description:
        'A full name, an identifier (`value` or `system|value`), a phone number or an e-mail address.',
    }),
  ),
  deleted: Type.Optional(Type.Boolean({ description: 'True: only deleted patients. For admins.' })),
  ...patientList.query,
})
export type PatientQuery = Static<typeof PatientQuery>

const { full_name: _, ...beside } = fields
const chosen = {
  department_id: Type.Optional(Nullable(Id)),
  attending_doctor_id: Type.Optional(Nullable(Id)),
  ...Type.Partial(Type.Object(beside)).properties,
  ...clinicalFields,
}

export const NewPatient = Type.Object({ full_name: Name, ...chosen })
export type NewPatient = Static<typeof NewPatient>

export const PatientChange = Type.Object({
  full_name: Type.Optional(Name),
  ...chosen,
  version: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'The version that was read. If the record has another version, the response is 409.',
    }),
  ),
})
export type PatientChange = Static<typeof PatientChange>

export const PatientPath = Type.Object({ patient_id: idOf('patient', 9001) })

export const BreakGlass = Type.Object({
  patient_id: Type.Optional(Id),
  identifier: Type.Optional(Identifier),
  purpose: OneOf(['emergency', 'treatment', 'other']),
  reason: Type.String({ minLength: 10, maxLength: 500, trim: true }),
})
export type BreakGlass = Static<typeof BreakGlass>
