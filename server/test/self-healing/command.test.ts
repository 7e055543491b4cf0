/** `wardkeep self-healing scan`: beside a running service, with words for people and JSON for programs. */
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

test('says what it has found and ends with 1; with nothing left it ends with 0', async () => {
  const found = await scan()
  expect(found).toMatchObject({ code: 1, stderr: '' })
  expect(found.stdout).toMatch(/^\d+ faults were looked for in \d+ ms:\n/)
  expect(found.stdout).toContain(
    'departments.head: A department is headed by somebody who may not be its head; 1 found, proposed\n',
  )
  await service.database.sql('update departments set head_doctor_id = null')
  const mended = await scan()
  expect(mended).toMatchObject({ code: 0, stderr: '' })
  expect(mended.stdout).toMatch(/^\d+ faults were looked for in \d+ ms, and none was found\.\n$/)
})

test('prints as JSON what a scan has seen of each fix', async () => {
  const { stdout } = await scan('--json')
  const { at, duration_ms, fixes } = JSON.parse(stdout)
  expect([typeof at, typeof duration_ms]).toEqual(['string', 'number'])
  const keys = fixes.map(({ key }: { key: string }) => key)
  expect(keys.sort()).toEqual(service.app.fixes.map(({ key }) => key).sort())
  expect(fixes.filter(({ unknown }: { unknown: unknown }) => unknown !== null)).toEqual([])
})

test('leaves at once, with 1, where another scan is under way', async () => {
  const other = new pg.Client({ connectionString: service.database.url })
  onTestFinished(() => other.end())
  await other.connect()
  await other.query('select pg_advisory_lock($1, 0)', [LOCKS.fixes])
  expect(await scan()).toEqual({
    code: 1,
    stdout: 'Another scan is under way; nothing was looked at.\n',
    stderr: '',
  })
})
