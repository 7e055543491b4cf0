/** `wardkeep keys verify` opens everything that is sealed, beside the running service. */
import { beforeAll, expect, test, vi } from 'vitest'
import { ROOT_SEALED } from '../../src/app.ts'
import type { Feature } from '../../src/platform/feature.ts'
import { wardkeep } from '../docs/command.ts'
import { furnishAccount, furnishPatient, furnishWebhook } from '../isolation/furnish.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

vi.setConfig({ testTimeout: 60_000 })

let service: Service
let patientId: number

beforeAll(async () => {
  service = await openService()
  const clinic = await makeClinic(service, await superadmin(service), 'north')
  await furnishAccount(service, clinic.people.nurse)
  await furnishWebhook(service, clinic)
  patientId = (await furnishPatient(service, clinic)).patientId
})

const verify = () => wardkeep(service.database, ['keys', 'verify'])

async function foundInProcess() {
  const found = []
  for await (const table of service.app.features.encryption.commands.verify(() => undefined))
    found.push(table)
  return found
}

test('names each table with what is in it, and ends with 0 where all of it opens', async () => {
  const ended = await verify()
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  const features: Feature[] = Object.values(service.app.features)
  const tables = [
    ...ROOT_SEALED.map(({ table }) => table),
    'data_keys',
    ...features.flatMap(({ sealed = [] }) => sealed.map(({ table }) => table)),
  ]
  const lines = ended.stdout.trim().split('\n')
  expect(lines.map((line) => line.split(':')[0])).toEqual(tables)
  for (const line of lines) expect(line).toMatch(/: \d+ values in \d+ rows, 0 do not open$/)
  expect(lines).toContain('patients: 3 values in 1 rows, 0 do not open')
  expect(ended.stderr).toContain('patients: 1 rows\n')
})

test('names what does not open, each value, and never what it says', async () => {
  const flip = (table: string, column: string, where: string) =>
    service.database.sql(
      `update ${table} set ${column} = set_byte(${column}, 60, get_byte(${column}, 60) # 1)
       where ${where}`,
    )
  await flip('patients', 'sealed_full_name', `id = ${patientId}`)
  await service.database.sql(
    `insert into messenger_codes (chat_hash, code_hash, sealed_chat, expires_at)
     values ('hash', 'hash', 'no sealed value', now())`,
  )
  const ended = await verify()
  expect(ended).toMatchObject({ code: 1 })
  expect(ended.stdout).toContain('patients: 3 values in 1 rows, 1 do not open\n')
  expect(ended.stdout).toContain(`patients.sealed_full_name of row ${patientId} does not open`)
  expect(ended.stdout).toMatch(/messenger_codes[.]sealed_chat of row 68617368 does not open/)
  expect(ended.stdout).not.toContain('Paula')
})

test('says so of all that a tenant has where its data key does not open', async () => {
  await service.database.sql(
    `update data_keys set wrapped_key = set_byte(wrapped_key, 60, get_byte(wrapped_key, 60) # 1)
     where tenant_id = (select tenant_id from patients limit 1)`,
  )
  const other = await openService({ database: service.database, role: 'api' })
  service = other
  const found = await foundInProcess()
  const of = (table: string) => found.find((one) => one.table === table)
  expect(of('data_keys')?.unreadable).toEqual([
    expect.stringMatching(/^data_keys[.]wrapped_key of row \d+ does not open/),
  ])
  expect(of('patients')?.unreadable).toHaveLength(3)
  expect(of('webhook_secrets')?.unreadable).not.toEqual([])
  expect(of('second_factors')?.unreadable).toHaveLength(1)
})
