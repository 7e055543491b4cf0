/** No restore brings a purged patient back, neither a restore in place nor a restore into an empty database. */
import { copyFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { purgeDeleted } from '../../src/features/patients/upkeep/purge.jobs.ts'
import { MINUTE } from '../../src/lib/clock.ts'
import { restoreBackupFile } from '../../src/open-features.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { fileOf, make, passMaintenance } from './support.ts'

let service: Service
let root: Person
let north: Clinic
let kept: number
let gone: number
/** Backups made before the purge. */
let full: string
let own: string
let notes: string[]

const folder = () => join(service.dataDir, 'backups')
const patientsOf = async ({ sql }: TestDatabase) =>
  (await sql<{ id: number }>('select id::int from patients order by id')).map(({ id }) => id)

beforeAll(async () => {
  service = await openService({ background: ['backups', 'jobs'] })
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  const { token } = north.people.admin
  const create = async (full_name: string) => {
    const body = { full_name, identifiers: [{ system: 'mrn', value: full_name }] }
    const created = await service.call('POST', '/api/patients', { token, body })
    expect(created.status).toBe(201)
    return created.body.id as number
  }
  kept = await create('Karla Kept')
  gone = await create('Gustav Gone')
  full = await make(service, root)
  own = await make(service, north.people.admin)
  await service.call('DELETE', `/api/patients/${gone}`, { token })
  await service.database.sql(
    `update patients set deleted_at = now() - interval '31 days' where id = $1`,
    [gone],
  )
  await purgeDeleted(
    { db: service.app.db, clock: service.clock, keepDays: 30 },
    new AbortController().signal,
  )
  expect(await patientsOf(service.database)).toEqual([kept])
  // Lets the minutes pass within which the store gets the purge note.
  service.clock.elapse(6 * MINUTE)
  await service.idle('backups')
  notes = (await readdir(folder())).filter((name) => /^purged-patients-\d+[.]json$/.test(name))
  expect(notes).toHaveLength(1)
})

/** Restores in place as this person. Returns the result of the job. */
async function restore(who: Person, backup_id: string, options: object): Promise<any> {
  const type = backup_id === full ? 'full' : 'tenant'
  const { status, body } = await service.call('POST', '/api/admin/backup/restore', {
    token: who.token,
    body: { backup_id, type, confirm: true, ...options },
  })
  expect(status).toBe(200)
  await passMaintenance(service, body.job_id)
  // Reads the table instead of the API, because the restore ends the caller's session.
  return until('the restore to end', async () => {
    const [job] = await service.database.sql<{ status: string; error: string; result: any }>(
      'select status, error, result from backup_jobs where id = $1',
      [body.job_id],
    )
    if (job?.status === 'failed') throw new Error(job.error)
    return job?.status === 'completed' ? job.result : undefined
  })
}

it('the purge of a patient writes a note that contains numbers and no personal data', async () => {
  const text = await readFile(join(folder(), String(notes[0])), 'utf8')
  expect(JSON.parse(text)).toMatchObject({
    purged_records: 'patients',
    ids: [{ id: gone, tenant_id: north.id }],
  })
  expect(text).not.toMatch(/gustav/i)
})

it('a dry run reports that the restore would leave the purged patient out', async () => {
  const result = await restore(north.people.admin, own, { dry_run: true })
  expect(result).toMatchObject({ purged: [], purged_records: { patients: 1 } })
  expect(result.tables.patients).toMatchObject({ added: 0 })
})

it('a restore of the clinic, and a restore of everything, leave the purged patient out', async () => {
  const ofClinic = await restore(north.people.admin, own, {})
  expect(ofClinic.purged_records).toEqual({ patients: 1 })
  expect(await patientsOf(service.database)).toEqual([kept])
  root = await superadmin(service)
  const ofAll = await restore(root, full, {})
  expect(ofAll.purged_records).toEqual({ patients: 1 })
  expect(await patientsOf(service.database)).toEqual([kept])
  const tokens = await service.database.sql(
    'select distinct patient_id::int as id from patient_tokens',
  )
  expect(tokens).toEqual([{ id: kept }])
})

it('a restore into an empty database leaves the purged patient out because of the note next to the file', async () => {
  const place = await scratch()
  for (const name of [`${full}.tar.zst.age`, ...notes])
    await copyFile(
      name === notes[0] ? join(folder(), name) : fileOf(service, full),
      join(place, name),
    )
  const database = await emptyDatabase()
  const restored = await restoreBackupFile(join(place, `${full}.tar.zst.age`), {
    address: database.address,
    rootKeys: [ROOT_KEY],
    log: silentLog,
    store: folderStore(await scratch()),
  })
  expect(restored.purged_records).toEqual({ patients: 1 })
  expect(await patientsOf(database)).toEqual([kept])
  // The restored service writes the purge note to its configured store again.
  expect(await database.sql('select id::int, noted_at from purged_patients')).toEqual([
    { id: gone, noted_at: null },
  ])
})
