/** Two clinics, and helpers that request a restore of their backups. */
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { passMaintenance } from './support.ts'

type Answer = Awaited<ReturnType<Service['call']>> & { body: any }

export interface Restoring {
  /** Signs the person in again, because a restore ends every session. */
  again(person: Person, subdomain?: string): Promise<Person>
  service: Service
  root: Person
  north: Clinic
  south: Clinic
  call(person: Person, method: string, path: string, body?: object): Promise<Answer>
  sql(text: string, values?: unknown[]): Promise<any[]>
  /** Restores a backup and waits. Returns the result, and the caller with a new session. */
  restore(person: Person, body: object, subdomain?: string): Promise<any>
  /** Waits until a job has ended. Reads with SQL, because the restore ends the callers' sessions. */
  over(job: string): Promise<any>
  /** Signs the superadmin in again and makes another clinic, for tests that share a service. */
  anotherClinic(): Promise<Clinic>
  nameOf(id: number): Promise<string | undefined>
  rename(person: Person, id: number, fullName: string): Promise<Answer>
}

export async function openRestoring(
  options: Parameters<typeof openService>[0] = {},
): Promise<Restoring> {
  const service = await openService({ background: ['backups', 'jobs'], ...options })
  const root = await superadmin(service)
  const north = await makeClinic(service, root, 'north')
  const south = await makeClinic(service, root, 'south')
  const call: Restoring['call'] = (person, method, path, body) =>
    service.call(method, path, { token: person.token, ...(body ? { body } : {}) })
  const sql: Restoring['sql'] = (text, values = []) => service.database.sql<any>(text, values)

  async function again(person: Person, subdomain = 'platform'): Promise<Person> {
    const { email, password } = person
    const tokens = await until('the service to be open again', () =>
      signIn(service, { email, password, subdomain }).catch((error: Error) => {
        if (!error.message.includes('503')) throw error
        return undefined
      }),
    )
    return { ...person, token: tokens.access_token }
  }

  async function over(job: string): Promise<any> {
    await passMaintenance(service, job)
    return until(`job ${job} to end`, async () => {
      await service.idle('backups')
      const [row] = await sql('select status, error, result from backup_jobs where id = $1', [job])
      return row.status === 'completed' || row.status === 'failed' ? row : undefined
    })
  }

  let clinics = 2
  async function anotherClinic(): Promise<Clinic> {
    root.token = (await again(root)).token
    clinics += 1
    return makeClinic(service, root, `clinic-${clinics}`)
  }

  return {
    anotherClinic,
    service,
    root,
    north,
    south,
    call,
    sql,
    again,
    over,
    async restore(person, body, subdomain) {
      const order = { confirm: true, ...body }
      const answer = await call(person, 'POST', '/api/admin/backup/restore', order)
      if (answer.status !== 200) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`)
      const done = await over(answer.body.job_id)
      if (done.status !== 'completed')
        throw new Error(done.error, {
          cause: service.logged.filter(([level]) => level === 'error').map(([, fields]) => fields),
        })
      return { ...done.result, as: await again(person, subdomain) }
    },
    nameOf: async (id) =>
      (await sql('select full_name from users where id = $1', [id]))[0]?.full_name,
    rename: (person, id, full_name) => call(person, 'PUT', `/api/admin/users/${id}`, { full_name }),
  }
}
