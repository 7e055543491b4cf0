/** The access table of patients. */
import {
  admins,
  atPatient,
  clinicAuditors,
  clinicians,
  type Line,
  members,
  nothing,
  ownAdmins,
  recordKeepers,
} from './lines.ts'

export const PATIENTS: readonly Line[] = [
  { name: 'GET /api/patients', aim: nothing, own: members(200) },
  { name: 'POST /api/patients/search', aim: () => ({ body: {} }), own: members(200) },
  {
    name: 'POST /api/patients',
    aim: () => ({ body: { full_name: 'Paula' } }),
    own: recordKeepers(201),
  },
  {
    name: 'POST /api/patients',
    what: 'into a department',
    aim: ({ departmentId }) => ({ body: { full_name: 'Paula', department_id: departmentId } }),
    own: recordKeepers(201),
    foreign: recordKeepers(422),
  },
  {
    name: 'POST /api/patients',
    what: 'with a doctor',
    aim: ({ doctorId }) => ({ body: { full_name: 'Paula', attending_doctor_id: doctorId } }),
    own: recordKeepers(201),
    foreign: recordKeepers(422),
  },
  {
    name: 'GET /api/patients/{patient_id}',
    aim: atPatient,
    own: members(200),
    foreign: members(404),
  },
  {
    name: 'PUT /api/patients/{patient_id}',
    aim: (target) => ({ ...atPatient(target), body: { phone: '1234' } }),
    own: recordKeepers(200),
    foreign: recordKeepers(404),
  },
  {
    name: 'DELETE /api/patients/{patient_id}',
    aim: atPatient,
    own: ownAdmins(204),
    foreign: ownAdmins(404),
  },
  {
    name: 'POST /api/patients/{patient_id}/restore',
    aim: atPatient,
    own: ownAdmins(200),
    foreign: ownAdmins(404),
  },
  {
    name: 'GET /api/patients/{patient_id}/accesses',
    aim: atPatient,
    own: clinicAuditors(200),
    foreign: clinicAuditors(404),
  },
  {
    name: 'GET /api/patients/{patient_id}/export',
    aim: atPatient,
    own: ownAdmins(200),
    foreign: ownAdmins(404),
  },
  {
    name: 'POST /api/patients/break-glass',
    aim: ({ patientId }) => ({
      body: { patient_id: patientId, purpose: 'other', reason: 'it was asked for' },
    }),
    own: clinicians(200),
    foreign: clinicians(404),
  },
  { name: 'GET /api/admin/cache/stats', aim: nothing, own: admins(200) },
  { name: 'POST /api/admin/cache/cleanup', aim: nothing, own: admins(200) },
  {
    name: 'POST /api/admin/cache/invalidate',
    aim: ({ patientId }) => ({ body: { patient_id: patientId } }),
    own: admins(200),
    foreign: admins(200),
  },
  {
    name: 'POST /api/admin/cache/warmup',
    aim: ({ patientId }) => ({ body: { patient_ids: [patientId] } }),
    own: ownAdmins(200),
    foreign: ownAdmins(200),
  },
]
