/** `/api/patients*`: the records themselves. */
import type { Clock } from '../../lib/clock.ts'
import { startOf } from '../../lib/page.ts'
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
import type { Records } from './records/records.service.ts'
import { checkFields } from './records/rules.ts'
import type { Search } from './search/search.service.ts'
import type { BreaksGlass } from './sight/break-glass.service.ts'

const tag = 'Patients'

export interface PatientServices {
  clock: Clock
  records: Records
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
      summary: 'A page of the patients you see; `search` finds them by exact name or identifier',
      tag,
      access: members,
      query: PatientQuery,
      list: true,
      refine: (given, refuse) => startOf(patientList, given, refuse),
      success: [200, PatientPage],
      refusals: ['role_required'],
      handle: ({ caller, query, refined }) => search.list(caller, query, refined),
    }),
    operation({
      method: 'POST',
      path: '/api/patients/search',
      id: 'searchPatients',
      summary: 'The same list; what is searched for stands in no URL',
      tag,
      access: members,
      body: PatientQuery,
      isRead: true,
      list: true,
      refine: ({ caller, body, faulty }, refuse) =>
        startOf(patientList, { caller, query: body, faulty }, ([, ...field], why) =>
          refuse(['body', ...field], why),
        ),
      success: [200, PatientPage],
      refusals: ['role_required'],
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
      summary: 'Creates a patient, in your own department unless told otherwise',
      tag,
      access: recordKeepers,
      body: NewPatient,
      refine: ({ body }, refuse) => checkFields(body, clock, refuse),
      checkReferences: ({ caller, body }, refuse) => records.checkReferences(caller, body, refuse),
      success: [201, CreatedPatient],
      refusals: ['clinical_fields', 'identifier_taken', 'overloaded'],
      handle: ({ caller, body }) => records.create(caller, body),
    }),
    operation({
      method: 'GET',
      path: '/api/patients/{patient_id}',
      id: 'getPatient',
      summary: 'One patient; who has read the record is journaled',
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
      summary: 'Changes a patient; what is left out stays, null says that nobody knows',
      tag,
      access: recordKeepers,
      params: PatientPath,
      body: PatientChange,
      refine: ({ body }, refuse) => checkFields(body, clock, refuse),
      checkReferences: ({ caller, body }, refuse) => records.checkReferences(caller, body, refuse),
      success: [200, Patient],
      refusals: ['not_found', 'clinical_fields', 'identifier_taken', 'overloaded'],
      handle: ({ caller, path, body }) => records.update(caller, path.patient_id, body),
    }),
    operation({
      method: 'DELETE',
      path: '/api/patients/{patient_id}',
      id: 'deletePatient',
      summary: 'Deletes a patient; restorable until purged',
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
      summary: 'Puts a deleted patient back',
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
    summary: 'Opens the record of a patient whom you do not see, for four hours and with a reason',
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
    handle: ({ caller, body }) => breakGlass(caller, body),
  })
}
