/** Refused restores change nothing. */
import { writeFile } from 'node:fs/promises'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { Clinic, Person } from '../support/clinics.ts'
import { until } from '../support/until.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { fileOf, make } from './support.ts'

let at: Restoring
/** The clinic of the test, whose nurse is renamed after the backup. */
let clinic: Clinic

beforeAll(async () => {
  at = await openRestoring()
})

beforeEach(async () => {
  clinic = await at.anotherClinic()
})

async function refusal(person: Person, body: object): Promise<string> {
  const order = { confirm: true, ...body }
  const answer = await at.call(person, 'POST', '/api/admin/backup/restore', order)
  if (answer.status !== 200) return `${answer.status} ${JSON.stringify(answer.body.detail)}`
  return (await at.over(answer.body.job_id)).error
}
const renamed = () => at.rename(at.root, clinic.people.nurse.id, 'Since')
async function expectUntouched(): Promise<void> {
  expect(await at.nameOf(clinic.people.nurse.id)).toBe('Since')
}

test('a restore is refused without confirmation, for a backup of the wrong type, or of another clinic', async () => {
  const { root, south } = at
  const full = await make(at.service, root)
  const own = await make(at.service, clinic.people.admin)
  const neighbour = await at.again(south.people.admin, 'south')
  expect(await refusal(root, { backup_id: full, confirm: false })).toMatch(/422.*confirm/)
  expect(await refusal(root, { backup_id: own, type: 'full' })).toMatch(/409.*one tenant/)
  expect(await refusal(root, { backup_id: own, tenant_id: south.id })).toMatch(/409.*another/)
  expect(await refusal(clinic.people.admin, { backup_id: full })).toMatch(/404/)
  expect(await refusal(neighbour, { backup_id: own })).toMatch(/404/)
  const order = { backup_id: own, access: 'backup' }
  expect(await refusal(clinic.people.admin, order)).toMatch(/403/)
})

test.each([
  ['everything', (id: string) => ({ backup_id: id })],
  ['one clinic', (id: string) => ({ backup_id: id, tenant_id: clinic.id })],
])(
  'a restore of %s is refused if encrypted fields of the backup cannot be decrypted',
  async (_what, wanted) => {
    const { doctor } = clinic.people
    const created = await at.call(doctor, 'POST', '/api/patients', { full_name: 'Paula Patient' })
    expect(created.status).toBe(201)
    const { id } = created.body
    const flip = () =>
      at.sql(
        `update patients set sealed_full_name = set_byte(sealed_full_name, length(sealed_full_name) - 1,
         (get_byte(sealed_full_name, length(sealed_full_name) - 1) # 1)) where id = $1`,
        [id],
      )
    await flip()
    const backup = await make(at.service, at.root)
    await flip()
    await renamed()
    expect(await refusal(at.root, wanted(backup))).toMatch(
      /patients[.]sealed_full_name of row \d+ cannot be decrypted/,
    )
    await expectUntouched()
    const read = await until('the service to be open again', async () => {
      const answer = await at.call(doctor, 'GET', `/api/patients/${id}`)
      return answer.status === 503 ? undefined : answer
    })
    expect(read.body).toMatchObject({ full_name: 'Paula Patient' })
  },
)

test('the refusal of a restore names a subdomain that another clinic has taken since the backup', async () => {
  const backup = await make(at.service, at.root)
  const { subdomain } = clinic
  await at.sql(`update tenants set subdomain = subdomain || '-moved' where id = $1`, [clinic.id])
  const next = { name: 'Next', subdomain }
  const { body, status } = await at.call(at.root, 'POST', '/api/admin/tenants', next)
  expect(status).toBe(201)
  await renamed()
  expect(await refusal(at.root, { backup_id: backup, tenant_id: clinic.id })).toBe(
    'subdomain: this subdomain is taken. Choose another one.',
  )
  await expectUntouched()
  await at.call(at.root, 'DELETE', `/api/admin/tenants/${body.id}`)
})

/** Restores from a request that has waited for a while, because no worker was running. */
async function orderedBefore(backup: string, ago: string) {
  const [{ id }] = await at.sql(
    `insert into backup_jobs (id, backup_id, kind, options, actor, created_at)
     values (gen_random_uuid(), $1, 'restore', '{"tenant_id":null,"access":"merged","dry_run":false}',
       '{"user_id":null,"user_email":null,"origin":null}', now() - $2::interval) returning id`,
    [backup, ago],
  )
  return at.over(id)
}

test('a restore that waited for more than an hour is refused, and a newer restore runs', async () => {
  const backup = await make(at.service, at.root)
  await renamed()
  const safetyBackups = () => at.sql(`select id from backups where reason = 'safety' order by id`)
  const before = await safetyBackups()
  const late = await orderedBefore(backup, '61 minutes')
  expect(late).toMatchObject({ status: 'failed', result: null })
  expect(late.error).toMatch(
    /^Refused: the restore was requested at \S+Z and has waited too long. Request it again[.]$/,
  )
  await expectUntouched()
  expect(await safetyBackups()).toEqual(before)
  expect(await orderedBefore(backup, '20 minutes')).toMatchObject({ status: 'completed' })
  expect(await at.nameOf(clinic.people.nurse.id)).toBe(`nurse of ${clinic.subdomain}`)
})

test('a purged tenant cannot be restored, and a restore of everything leaves the tenant out', async () => {
  const { id } = clinic
  const backup_id = await make(at.service, at.root)
  await at.sql(
    "insert into journal (tenant_id, action, resource_type) values ($1, 'tenant.purged', 'tenant')",
    [id],
  )
  await at.sql('update departments set head_doctor_id = null where tenant_id = $1', [id])
  await at.sql('delete from tenants where id = $1', [id])
  expect(await refusal(at.root, { backup_id, tenant_id: id })).toMatch(/purged/)
  await at.restore(at.root, { backup_id })
  expect(await at.sql('select from tenants where id = $1', [id])).toEqual([])
})

// This test must be the last, because the database belongs to another installation afterwards.
test('a restore is refused for a backup of another installation or schema, and for a file with other contents', async () => {
  const id = await make(at.service, at.root)
  await renamed()
  await at.sql('update installation set id = gen_random_uuid()')
  expect(await refusal(at.root, { backup_id: id })).toMatch(/another installation/)
  await at.sql("insert into migrations (version, name, checksum) values (9999, 'later', 'x')")
  const newer = await make(at.service, at.root)
  await at.sql('delete from migrations where version = 9999')
  expect(await refusal(at.root, { backup_id: newer })).toMatch(
    /^Refused: the backup has schema version 9999, but this release only supports up to \d+\. Install the newer release/,
  )
  const second = await make(at.service, at.root)
  await at.sql("update migrations set checksum = 'other' where version = 1")
  expect(await refusal(at.root, { backup_id: second })).toMatch(/different migrations/)
  await writeFile(fileOf(at.service, second), 'something else')
  expect(await refusal(at.root, { backup_id: second })).toMatch(/not usable/)
  await expectUntouched()
  expect((await at.call(at.root, 'GET', '/api/users/me')).status).toBe(200)
})
