/** A clinic with two departments and people who see different patients. */
import { type Clinic, makeClinic, PASSWORD, signIn, superadmin } from '../support/clinics.ts'
import type { Answer, Service } from '../support/service.ts'

export interface PatientScene {
  clinic: Clinic
  /** Another department than that of the clinic's people. */
  elsewhere: number
  /** As one of the clinic's people, or with a token. */
  as(who: keyof Clinic['people'] | { token: string }): Call
  /** A patient of the department, made by the admin. */
  patient(fields?: object): Promise<any>
  /** Another of the clinic's people, signed in. */
  newcomer(fields: object): Promise<{ id: number; token: string }>
}

export type Call = (method: string, path: string, body?: unknown) => Promise<Answer>

let clinics = 0

export async function openPatientScene(service: Service): Promise<PatientScene> {
  clinics += 1
  const clinic = await makeClinic(service, await superadmin(service), `patients${clinics}`)
  const as: PatientScene['as'] = (who) => {
    const { token } = typeof who === 'string' ? clinic.people[who] : who
    return (method, path, body) => service.call(method, path, { token, body })
  }
  const made = async (path: string, body: object) => {
    const answer = await as('admin')('POST', path, body)
    if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const { id: elsewhere } = await made('/api/admin/departments', { name: 'Elsewhere' })
  return {
    clinic,
    elsewhere,
    as,
    patient: (fields = {}) =>
      made('/api/patients', {
        full_name: 'Paula Patient',
        department_id: clinic.departmentId,
        ...fields,
      }),
    async newcomer(fields) {
      const user = {
        email: `${crypto.randomUUID()}@new.test`,
        password: PASSWORD,
        full_name: 'New',
        role: 'doctor',
        ...fields,
      }
      const { id } = await made('/api/admin/users', user)
      const { subdomain } = clinic
      const { access_token: token } = await signIn(service, { ...user, subdomain })
      return { id, token }
    },
  }
}
