/** Routes that list and export who accessed a patient's record. */
import { pageStartOf } from '../../../lib/page.ts'
import { clinicAdmins, clinicAuditors } from '../../../platform/access/index.ts'
import { type AnyOperation, JsonFileOf, operation } from '../../../platform/http/index.ts'
import { PatientPath } from '../patients.schema.ts'
import { AccessPage, AccessQuery, accessList, PatientExport } from './accesses.schema.ts'
import type { Accesses } from './accesses.service.ts'

const tag = 'Patients'

export function accessOperations(accesses: Accesses): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/patients/{patient_id}/accesses',
      id: 'listPatientAccesses',
      summary: 'List the accesses to a patient',
      description: 'Returns who read, listed, found, changed or exported the record, latest first.',

      tag,
      access: clinicAuditors,
      params: PatientPath,
      query: AccessQuery,
      list: true,
      refine: (given, refuse) => pageStartOf(accessList, given, refuse),
      success: [200, AccessPage],
      refusals: ['not_found'],
      handle: ({ caller, path, query, refined }) =>
        accesses.list(caller, path.patient_id, query, refined),
    }),
    operation({
      method: 'GET',
      path: '/api/patients/{patient_id}/export',
      id: 'exportPatient',
      summary: 'Export a patient',
      description:
        'Returns the record and all accesses to it as one JSON file, for a request under Art. 15 GDPR.',
      records: ['patient.exported'],
      tag,
      access: clinicAdmins,
      params: PatientPath,
      success: [200, JsonFileOf(PatientExport)],
      refusals: ['not_found'],
      handle: async ({ caller, path: { patient_id: id } }) => {
        const file = await accesses.export(caller, id)
        return { name: `patient-${id}.json`, open: () => file }
      },
    }),
  ]
}
