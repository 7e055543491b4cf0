/** `wardkeep self-healing scan` runs while the service runs. It prints text for people, or JSON for programs. */
import pg from 'pg'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { LOCKS } from '../../src/platform/db/index.ts'
import { wardkeep } from '../docs/command.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service

beforeAll(async () => {
  service = await openService()
  const clinic = await makeClinic(service, await superadmin(service), 'north')
  await service.database.sql('update departments set head_doctor_id = $1 where id = $2', [
    clinic.people.nurse.id,
    clinic.departmentId,
  ])
})

const scan = (...options: string[]) =>
  wardkeep(service.database, ['self-healing', 'scan', ...options])

test('self-healing scan prints its findings and exits with code 1, or with code 0 once nothing needs repair', async () => {
  const found = await scan()
  expect(found).toMatchObject({ code: 1, stderr: '' })
  expect(found.stdout).toMatch(/^Scanned for \d+ known faults in \d+ ms:\n/)
  expect(found.stdout).toContain(
    'departments.head: A department has a head who is not eligible; 1 found, proposed\n',
  )
  await service.database.sql('update departments set head_doctor_id = null')
  const mended = await scan()
  expect(mended).toMatchObject({ code: 0, stderr: '' })
  expect(mended.stdout).toMatch(/^Scanned for \d+ known faults in \d+ ms\. None was found\.\n$/)
})

test('self-healing scan prints the result of each fix as JSON', async () => {
  const { stdout } = await scan('--json')
  const { at, duration_ms, fixes } = JSON.parse(stdout)
  expect([typeof at, typeof duration_ms]).toEqual(['string', 'number'])
  const keys = fixes.map(({ key }: { key: string }) => key)
  expect(keys.sort()).toEqual(service.app.fixes.map(({ key }) => key).sort())
  expect(fixes.filter(({ unknown }: { unknown: unknown }) => unknown !== null)).toEqual([])
})

test('self-healing scan exits with code 1 immediately while another scan runs', async () => {
  const other = new pg.Client({ connectionString: service.database.url })
  onTestFinished(() => other.end())
  await other.connect()
  await other.query('select pg_advisory_lock($1, 0)', [LOCKS.fixes])
  expect(await scan()).toEqual({
    code: 1,
    stdout: 'Another scan is running, so this one did not start. Try again when it has ended.\n',
    stderr: '',
  })
})
