/** Backups made before a key rotation can be restored, and the next rotation re-encrypts the restored values. */
import { beforeAll, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { make, passMaintenance, purgeClinic } from './support.ts'

let service: Service
let root: Person
let north: Clinic
let south: Clinic
let gone: Clinic
/** Backups encrypted with the first data keys: a full backup, and one of a single clinic. */
let full: string
let own: string
let first: number[]

const sql = <T = any>(text: string, values: unknown[] = []) =>
  service.database.sql<T & object>(text, values)
const ids = async (text: string, values: unknown[] = []) =>
  (await sql<{ id: string }>(text, values)).map(({ id }) => Number(id))
const dataKeys = () => ids('select id from data_keys order by id')
const keysOf = ({ id }: Clinic) =>
  sql('select retired_at is null as current from data_keys where tenant_id = $1 order by id', [id])

const NAME = 'Paula Patient'
const addPatient = async (clinic: Clinic) => {
  const { status } = await service.call('POST', '/api/patients', {
    token: clinic.people.admin.token,
    body: { full_name: NAME, notes: 'allergic to tests', department_id: clinic.departmentId },
  })
  expect(status).toBe(201)
}

beforeAll(async () => {
  service = await openService({ background: ['backups', 'encryption', 'jobs'] })
  root = await superadmin(service)
  ;[north, south, gone] = [
    await makeClinic(service, root, 'north'),
    await makeClinic(service, root, 'south'),
    await makeClinic(service, root, 'gone'),
  ]
  for (const clinic of [north, south, gone]) await addPatient(clinic)
  full = await make(service, root)
  own = await make(service, north.people.admin)
  first = await dataKeys()
  await purgeClinic(service, gone.id)
  await rotate()
})

async function signedIn(clinic?: Clinic): Promise<string> {
  const { email, password } = clinic ? clinic.people.admin : SUPERADMIN
  const subdomain = clinic?.subdomain ?? 'platform'
  const tokens = await until('the service to be open', () =>
    signIn(service, { email, password, subdomain }).catch((error: Error) => {
      if (!error.message.includes('503')) throw error
      return undefined
    }),
  )
  return tokens.access_token
}

/** Rotates the data keys, and waits for the end of the rotation. */
async function rotate(): Promise<void> {
  const token = await signedIn()
  const begun = await service.call('POST', '/api/admin/encryption/rotate', { token, body: {} })
  expect(begun.status, JSON.stringify(begun.body)).toBe(200)
  const { body } = await until(
    'the rotation to end',
    async () => {
      const found = await service.call('GET', '/api/admin/encryption/status', { token })
      return found.body.status === 'running' ? undefined : found
    },
    30_000,
  )
  expect(body).toMatchObject({ status: 'completed', records_failed: 0 })
}

async function restore(body: object): Promise<void> {
  const token = await signedIn()
  const answer = await service.call('POST', '/api/admin/backup/restore', {
    token,
    body: { confirm: true, ...body },
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  await passMaintenance(service, answer.body.job_id)
  const job = await until(
    'the restore to end',
    async () => {
      const [row] = await sql('select status, error from backup_jobs where id = $1', [
        answer.body.job_id,
      ])
      return ['completed', 'failed'].includes(row.status) ? row : undefined
    },
    30_000,
  )
  expect(job).toEqual({ status: 'completed', error: null })
}

/** Expects that the clinic's record can be decrypted, and that a search finds it. */
async function expectReadable(clinic: Clinic): Promise<void> {
  const token = await signedIn(clinic)
  const found = await until('the clinic to be open', async () => {
    const answer = await service.call('GET', '/api/patients', { token, query: { search: NAME } })
    return answer.status === 503 ? undefined : answer
  })
  expect(found.body.items, JSON.stringify(found.body)).toMatchObject([{ full_name: NAME }])
  const { id } = found.body.items[0]
  expect((await service.call('GET', `/api/patients/${id}`, { token })).body).toMatchObject({
    notes: 'allergic to tests',
  })
}

test('the rotation has deleted the data keys that the backups name', async () => {
  const now = await dataKeys()
  expect(first.filter((id) => now.includes(id))).toEqual([])
  expect(first.length).toBeGreaterThan(2)
})

test.each([
  ['one clinic from its own backup', () => ({ backup_id: own }), [1, 0]],
  ['one clinic from a full backup', () => ({ backup_id: full, tenant_id: north.id }), [1, 0]],
  ['everything', () => ({ backup_id: full }), [1, 1]],
] as const)(
  '%s is restored with the data keys of the backup, and the next rotation deletes those keys',
  async (_, what, came) => {
    await restore(what())
    for (const [index, clinic] of [north, south].entries()) {
      const keys = await keysOf(clinic)
      expect(keys.filter(({ current }) => current)).toHaveLength(1)
      expect(keys.filter(({ current }) => !current)).toHaveLength(came[index] ?? 0)
      await expectReadable(clinic)
    }
    const before = await dataKeys()
    await rotate()
    const after = await dataKeys()
    expect(before.filter((id) => after.includes(id))).toEqual([])
    for (const clinic of [north, south]) {
      expect(await keysOf(clinic)).toEqual([{ current: true }])
      await expectReadable(clinic)
    }
    expect(await sql('select from key_encryption_keys')).toHaveLength(1)
  },
)

test('no restore brings back a data key that was deleted with its tenant', async () => {
  await restore({ backup_id: full })
  expect(await keysOf(gone)).toEqual([])
  await expectReadable(north)
})
