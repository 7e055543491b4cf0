/** `wardkeep keys verify` decrypts all encrypted values while the service runs. */
import { beforeAll, describe, expect, test } from 'vitest'
import { ROOT_SEALED, SEALED } from '../../src/open-features.ts'
import { wardkeep } from '../docs/command.ts'
import { furnishAccount, furnishPatient, furnishWebhook } from '../isolation/furnish.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { migratedDatabase } from '../support/database.ts'
import { openService, type Service } from '../support/service.ts'
import { openRotations } from './scene.ts'

let service: Service
let clinic: Clinic
let patientId: number

beforeAll(async () => {
  // Runs no background work, so nothing resumes a rotation.
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
  await furnishAccount(service, clinic.people.nurse)
  await furnishWebhook(service, clinic)
  patientId = (await furnishPatient(service, clinic)).patientId
})

const verify = () => wardkeep(service.database, ['keys', 'verify'])

test('wardkeep keys verify prints the number of values in each table, and exits with code 0 if all can be decrypted', async () => {
  const ended = await verify()
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  const tables = [
    ...ROOT_SEALED.map(({ table }) => table),
    'data_keys',
    ...SEALED.map(({ table }) => table),
  ]
  const lines = ended.stdout.trim().split('\n')
  expect(lines.map((line) => line.split(':')[0])).toEqual(tables)
  for (const line of lines) expect(line).toMatch(/: \d+ values in \d+ rows, 0 cannot be decrypted$/)
  expect(lines).toContain('patients: 3 values in 1 rows, 0 cannot be decrypted')
  expect(ended.stderr).toContain('patients: 1 rows\n')
})

test('wardkeep keys verify changes nothing in a database with another schema, and reports the difference', async () => {
  const { sql } = service.database
  const migrations = () => sql('select version, name from migrations order by version')
  const before = await migrations()
  const [newest] = await sql(
    'delete from migrations where version = (select max(version) from migrations) returning *',
  )
  const without = await migrations()
  const ended = await verify()
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  expect(ended.stderr).toMatch(
    /^The database has schema version \d+, but this release requires \d+\. Use the release/,
  )
  expect(await migrations()).toEqual(without)
  await sql('insert into migrations select * from jsonb_populate_record(null::migrations, $1)', [
    JSON.stringify(newest),
  ])
  expect(await migrations()).toEqual(before)
})

/** Flips one byte of an encrypted value. A second call restores it. */
const flip = (table: string, column: string, where: string) =>
  service.database.sql(
    `update ${table} set ${column} = set_byte(${column}, 60, get_byte(${column}, 60) # 1)
     where ${where}`,
  )

test('wardkeep keys verify names each value that cannot be decrypted, and never prints its content', async () => {
  await flip('patients', 'sealed_full_name', `id = ${patientId}`)
  await service.database.sql(
    `insert into messenger_codes (chat_hash, code_hash, sealed_chat, expires_at)
     values ('hash', 'hash', 'no sealed value', now())`,
  )
  const ended = await verify()
  expect(ended).toMatchObject({ code: 1 })
  expect(ended.stdout).toContain('patients: 3 values in 1 rows, 1 cannot be decrypted\n')
  expect(ended.stdout).toContain(
    `patients.sealed_full_name of row ${patientId} cannot be decrypted`,
  )
  expect(ended.stdout).toMatch(/messenger_codes[.]sealed_chat of row 68617368 cannot be decrypted/)
  expect(ended.stdout).not.toContain('Paula')
  await service.database.sql('delete from messenger_codes')
  await flip('patients', 'sealed_full_name', `id = ${patientId}`)
})

describe('wardkeep keys verify, with damaged data,', () => {
  const keys = () =>
    service.database.sql<{ id: number; current: boolean }>(
      `select id, retired_at is null as current from data_keys where tenant_id = ${clinic.id}
       order by id`,
    )

  test('counts all values of a tenant whose only data key is damaged', async () => {
    const [key] = await keys()
    await flip('data_keys', 'wrapped_key', `id = ${key?.id}`)
    const { code, stdout } = await verify()
    expect(code).toBe(1)
    const name = `data key ${key?.id} of tenant ${clinic.id}`
    expect(stdout).toMatch(/^data_keys: (\d+) values in \1 rows, 1 cannot be decrypted$/m)
    expect(stdout).toContain(
      `${name}: data_keys.wrapped_key of row ${clinic.id} cannot be decrypted: wrong key`,
    )
    expect(stdout).toContain(
      `patients: 3 values in 1 rows, 3 cannot be decrypted\n3 values of patients need ${name}, which cannot be decrypted\n`,
    )
    expect(stdout).toContain('second_factors: 1 values in 1 rows, 1 cannot be decrypted\n')
    await flip('data_keys', 'wrapped_key', `id = ${key?.id}`)
  })

  test('counts all values under a key-encryption key that is missing', async () => {
    const [key] = await keys()
    const at = service.database
    // Disables the foreign key check. Only a damaged database can have such a row.
    await at.sql('alter table data_keys disable trigger all')
    await at.sql('alter table key_encryption_keys disable trigger all')
    const [kek] = await at.sql<{ id: number; row: object }>(
      'delete from key_encryption_keys k where retired_at is null returning id::int, to_jsonb(k) as row',
    )
    const { code, stdout } = await verify()
    expect(code).toBe(1)
    expect(stdout).toContain(
      `data key ${key?.id} of tenant ${clinic.id}: its key-encryption key ${kek?.id} is missing`,
    )
    expect(stdout).toContain('second_factors: 1 values in 1 rows, 1 cannot be decrypted\n')
    await at.sql(
      'insert into key_encryption_keys select * from jsonb_populate_record(null::key_encryption_keys, $1)',
      [JSON.stringify(kek?.row)],
    )
    await at.sql('alter table data_keys enable trigger all')
    await at.sql('alter table key_encryption_keys enable trigger all')
    expect(await verify()).toMatchObject({ code: 0 })
  })

  test('counts only the values of the damaged key if the tenant has two data keys', async () => {
    await (await openRotations(service)).begin()
    await furnishPatient(service, clinic)
    const [old, current] = await keys()
    expect([old?.current, current?.current]).toEqual([false, true])
    await flip('data_keys', 'wrapped_key', `id = ${old?.id}`)
    const { code, stdout } = await verify()
    expect(code).toBe(1)
    expect(stdout).toContain(
      `patients: 6 values in 2 rows, 3 cannot be decrypted\n3 values of patients need data key ${old?.id} of`,
    )
    await flip('data_keys', 'wrapped_key', `id = ${old?.id}`)
    expect(await verify()).toMatchObject({ code: 0 })
  })

  test('counts exactly the values under data keys if the key-encryption key is damaged', async () => {
    await flip('key_encryption_keys', 'wrapped_key', 'retired_at is null')
    const { code, stdout, stderr } = await verify()
    expect(code, stderr).toBe(1)
    expect(stdout).toContain('key_encryption_keys: 2 values in 2 rows, 1 cannot be decrypted\n')
    const [all] = await service.database.sql<{ count: number }>(
      'select count(*)::int as count from data_keys',
    )
    const count = all?.count
    expect(stdout).toContain(
      `data_keys: ${count} values in ${count} rows, ${count} cannot be decrypted\n`,
    )
    for (const { id } of await keys())
      expect(stdout).toMatch(
        new RegExp(
          `^data key ${id} of tenant ${clinic.id}: key_encryption_keys[.]wrapped_key of row \\d+ cannot be decrypted`,
          'm',
        ),
      )
    expect(stdout).toContain('patients: 6 values in 2 rows, 6 cannot be decrypted\n')
    expect(stdout).toMatch(/^signing_keys: \d+ values in \d+ rows, 0 cannot be decrypted$/m)
    await flip('key_encryption_keys', 'wrapped_key', 'retired_at is null')
  })

  test('counts only the damaged values among those that the root key encrypts', async () => {
    await flip('service_key', 'sealed_key', 'true')
    await flip('signing_keys', 'sealed_private_key', 'true')
    const { code, stdout, stderr } = await verify()
    expect(code, stderr).toBe(1)
    expect(stdout).toContain('service_key: 1 values in 1 rows, 1 cannot be decrypted\n')
    expect(stdout).toContain('signing_keys: 1 values in 1 rows, 1 cannot be decrypted\n')
    expect(stdout).toContain('patients: 6 values in 2 rows, 0 cannot be decrypted\n')
    await flip('service_key', 'sealed_key', 'true')
    await flip('signing_keys', 'sealed_private_key', 'true')
  })
})

test('wardkeep keys verify changes nothing, and creates no key if there is none', async () => {
  const empty = await migratedDatabase()
  const { code, stdout, stderr } = await wardkeep(empty, ['keys', 'verify'])
  expect(code, stderr).toBe(0)
  expect(stdout).toContain('root_keys: 0 values in 0 rows, 0 cannot be decrypted\n')
  expect(await empty.sql('select 1 from root_keys')).toEqual([])
})
