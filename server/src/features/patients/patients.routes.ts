import type { Clock } from '../../lib/clock.ts'
import { pageStartOf } from '../../lib/page.ts'
import { clinicAdmins, clinicians, members, recordKeepers } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import {
  BreakGlass,
  CreatedPatient,
  NewPatient,
  Patient,
  PatientChange,
  PatientPage,
  PatientPath,
  PatientQuery,
  patientList,
} from './patients.schema.ts'
import type { PatientRecords } from './records/records.service.ts'
import { checkFields } from './records/rules.ts'
import type { Search } from './search/search.service.ts'
import type { BreaksGlass } from './sight/break-glass.service.ts'

const tag = 'Patients'

export interface PatientServices {
  clock: Clock
  records: PatientRecords
  search: Search
  breakGlass: BreaksGlass
}

export function patientOperations(services: PatientServices): AnyOperation[] {
  return [...listOperations(services), ...recordOperations(services), breakGlassOperation(services)]
}

function listOperations({ search }: PatientServices): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/patients',
      id: 'listPatients',
      summary: 'List patients',
      description:
        'Returns a page of the patients that the caller can see. `search` finds an exact name or identifier; prefer `POST /api/patients/search`, which keeps the term out of URLs and logs.',
      records: ['patient.listed', 'patient.searched'],
      tag,
      access: members,
      query: PatientQuery,
      list: true,
      refine: (given, refuse) => pageStartOf(patientList, given, refuse),
      success: [200, PatientPage],
      refusals: ['role_required'],
      handle: ({ caller, query, refined }) => search.list(caller, query, refined),
    }),
    operation({
      method: 'POST',
      path: '/api/patients/search',
      id: 'searchPatients',
      summary: 'Search patients',
      description:
        'Returns the same page as `GET /api/patients` with the search term in the body. The audit log records which patients were found, never the search term.',
      records: ['patient.listed', 'patient.searched'],
      tag,
      access: members,
      body: PatientQuery,
      isRead: true,
      list: true,
      refine: ({ caller, body, faulty }, refuse) =>
        pageStartOf(patientList, { caller, query: body, faulty }, ([, ...field], why) =>
          refuse(['body', ...field], why),
        ),
      success: [200, PatientPage],
      refusals: ['role_required'],
      example: { body: { search: 'Paula Patient', limit: 20, sort_by: 'id', sort_order: 'asc' } },
      handle: ({ caller, body, refined }) => search.list(caller, body, refined),
    }),
  ]
}

function recordOperations({ clock, records }: PatientServices): AnyOperation[] {
  return [
    operation({
      method: 'POST',
      path: '/api/patients',
      id: 'createPatient',
      summary: 'Create a patient',
      description:
        "Creates a patient in the caller's department unless the request sets another one. Every field is encrypted before it is stored. `possible_duplicates` lists visible patients with the same name and birth date.",
      records: ['patient.created'],
      tag,
      access: recordKeepers,
      body: NewPatient,
      refine: ({ body }, refuse) => checkFields(body, clock, refuse),
      checkReferences: ({ caller, body }, refuse) => records.checkReferences(caller, body, refuse),
      success: [201, CreatedPatient],
      refusals: ['clinical_fields', 'identifier_taken', 'overloaded'],
      example: {
        body: {
          full_name: 'Paula Patient',
          birth_date: '1984-03-09',
          sex: 'female',
          identifiers: [{ system: 'urn:north:chart', value: 'A-1042' }],
          phone: '+49 30 5550123',
          allergies: ['Penicillin'],
          notes: 'Pacemaker since 2019',
        },
      },
      handle: ({ caller, body }) => records.create(caller, body),
    }),
    operation({
      method: 'GET',
      path: '/api/patients/{patient_id}',
      id: 'getPatient',
      summary: 'Get a patient',
      description:
        'Returns one patient that the caller can see. A receptionist does not receive clinical fields.',
      records: ['patient.read'],
      tag,
      access: members,
      params: PatientPath,
      success: [200, Patient],
      refusals: ['not_found'],
      handle: ({ caller, path }) => records.get(caller, path.patient_id),
    }),
    operation({
      method: 'PUT',
      path: '/api/patients/{patient_id}',
      id: 'updatePatient',
      summary: 'Change a patient',
      description:
        'Changes the fields that are sent; null clears a field. With `version` the change is rejected if the record was changed since it was read.',
      records: ['patient.updated', 'patient.read'],
      tag,
      access: recordKeepers,
      params: PatientPath,
      body: PatientChange,
      refine: ({ body }, refuse) => checkFields(body, clock, refuse),
      checkReferences: ({ caller, body }, refuse) => records.checkReferences(caller, body, refuse),
      success: [200, Patient],
      refusals: ['not_found', 'clinical_fields', 'identifier_taken', 'overloaded'],
      example: {
        answer: { phone: '+49 30 5550199', version: 2 },
        body: { phone: '+49 30 5550199', version: 1 },
      },
      handle: ({ caller, path, body }) => records.update(caller, path.patient_id, body),
    }),
    operation({
      method: 'DELETE',
      path: '/api/patients/{patient_id}',
      id: 'deletePatient',
      summary: 'Delete a patient',
      description: 'Deletes the patient. The record can be restored until it is purged.',
      records: ['patient.deleted'],
      tag,
      access: clinicAdmins,
      params: PatientPath,
      success: [204, null],
      refusals: ['not_found'],
      handle: ({ caller, path }) => records.delete(caller, path.patient_id),
    }),
    operation({
      method: 'POST',
      path: '/api/patients/{patient_id}/restore',
      id: 'restorePatient',
      summary: 'Restore a patient',
      description: 'Restores a deleted patient that has not been purged.',
      records: ['patient.restored'],
      tag,
      access: clinicAdmins,
      params: PatientPath,
      success: [200, Patient],
      refusals: ['not_found', 'identifier_taken'],
      handle: ({ caller, path }) => records.restore(caller, path.patient_id),
    }),
  ]
}

function breakGlassOperation({ breakGlass }: PatientServices): AnyOperation {
  return operation({
    method: 'POST',
    path: '/api/patients/break-glass',
    id: 'breakGlass',
    summary: 'Break the glass',
    description:
      'Gives the caller access for four hours to a patient whom they cannot see otherwise (emergency access). Requires a reason. The administrators of the tenant are notified by mail. Limited to 10 per hour and user.',
    records: ['patient.break_glass'],
    tag,
    access: clinicians,
    body: BreakGlass,
    refine: ({ body: { patient_id, identifier }, faulty }, refuse) => {
      const isFaulty = faulty.has('body.patient_id') || faulty.has('body.identifier')
      if (!isFaulty && (patient_id === undefined) === (identifier === undefined))
        refuse(['body'], 'send either patient_id or identifier')
    },
    success: [200, Patient],
    refusals: ['not_found', 'overloaded'],
    example: {
      body: {
        patient_id: 9001,
        purpose: 'emergency',
        reason: 'Unconscious on arrival, allergies needed',
      },
    },
    handle: ({ caller, body }) => breakGlass(caller, body),
  })
}
