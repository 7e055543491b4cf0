/** Rotations as a superadmin requests them, and their state in the database. */
import { superadmin } from '../support/clinics.ts'
import type { Answer, Service } from '../support/service.ts'
import { until } from '../support/until.ts'

export interface Rotations {
  /** Requests a rotation to new keys. */
  begin(): Promise<Answer>
  status(): Promise<Record<string, any>>
  /** Waits for the status. Returns the whole status response. */
  until(status: 'completed' | 'failed'): Promise<Record<string, any>>
  /** Waits until a node has completed one more full pass. */
  lookedAgain(): Promise<void>
}

export async function openRotations(service: Service): Promise<Rotations> {
  const { token } = await superadmin(service)
  const call = (method: string, name: string, body?: object) =>
    service.call(method, `/api/admin/encryption/${name}`, { token, body })
  const status = async () => (await call('GET', 'status')).body
  // Every pass begins with a write of this row, even if it finds nothing.
  const version = async () => {
    const [row] = await service.database.sql<{ xmin: string }>(
      "select xmin::text from encryption_rotations where status = 'running'",
    )
    return row?.xmin
  }
  const changed = async () => {
    const before = await version()
    await until('it is looked at again', async () => (await version()) !== before || undefined)
  }
  return {
    begin: () => call('POST', 'rotate', {}),
    status,
    until: (wanted) =>
      until(`the rotation has ${wanted}`, async () => {
        await service.idle('encryption')
        const told = await status()
        return told.status === wanted ? told : undefined
      }),
    async lookedAgain() {
      await changed()
      await changed()
    },
  }
}

/** Returns the fields of a patient who has only a name. */
export const nobody = (full_name: string) => ({
  full_name,
  department_id: null,
  attending_doctor_id: null,
  birth_date: null,
  sex: null,
  identifiers: [],
  phone: null,
  email: null,
  address: null,
  allergies: [],
  notes: null,
})
