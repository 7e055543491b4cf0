/** A clinic with two departments and users who see different patients. */
import { type Clinic, makeClinic, PASSWORD, superadmin } from '../support/clinics.ts'
import { signInAs } from '../support/people.ts'
import type { Answer, Service } from '../support/service.ts'
import { until } from '../support/until.ts'

export interface PatientScene {
  clinic: Clinic
  /** A department without users. */
  elsewhere: number
  /** Returns a function that calls as one of the clinic's users, or with any token. */
  as(who: keyof Clinic['people'] | { token: string }): Call
  /** Creates a patient of the clinic's department as the admin. */
  patient(fields?: object): Promise<any>
  /** Creates another user of the clinic and signs the user in. */
  newcomer(fields: object): Promise<{ id: number; token: string }>
}

/** Waits until the node receives the notifications of other nodes. Before that, it caches no patients. */
export const hears = (node: Service, token: string) =>
  until('the node hears of changes', async () => {
    const { body } = await node.call('GET', '/api/admin/health', { token })
    return body.checks.changes === 'ok' || undefined
  })

/**
 * Waits until the node has received all notifications that were committed before, including its own. For this, another
 * node makes a change, whose notification arrives last.
 */
export async function hearsAll(node: Service, other: Service, { people }: Clinic): Promise<void> {
  const full_name = crypto.randomUUID()
  const { token } = people.admin
  // The patient is cached, so the next response shows whether the notification has arrived.
  await node.call('GET', '/api/users/me', people.auditor)
  await other.call('PUT', `/api/admin/users/${people.auditor.id}`, { token, body: { full_name } })
  await until('the node has heard', async () => {
    const { body } = await node.call('GET', '/api/users/me', people.auditor)
    return body.full_name === full_name || undefined
  })
}

/** Reads a patient until the node returns the patient from its cache. */
export const holdsPatient = (node: Service, { people }: Clinic, id: number) =>
  until('the patient is held', async () => {
    const { token } = people.admin
    const hits = async () => (await node.call('GET', '/api/admin/cache/stats', { token })).body.hits
    const before = await hits()
    await node.call('GET', `/api/patients/${id}`, { token })
    return (await hits()) > before || undefined
  })

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
      const { token } = await signInAs(service, { ...user, subdomain })
      return { id, token }
    },
  }
}
