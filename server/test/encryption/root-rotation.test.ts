/** A new root key replaces the current one. All data is re-encrypted at once, and none is lost. */
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { eventTenantId, ROOT_SEALED } from '../../src/open-features.ts'
import {
  fingerprintOf,
  openSealer,
  type RootSealed,
  rootPlace,
  rotateRoot,
} from '../../src/platform/crypto/index.ts'
import { alone, openScopes } from '../../src/platform/db/index.ts'
import { runCommand } from '../docs/command.ts'
import { furnishAccount, furnishPatient } from '../isolation/furnish.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { hurry } from '../support/mail.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, rootKeys, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const OLD = ROOT_KEY
const NEW = Buffer.alloc(32, 8)
const HASH = randomBytes(32)
const SAID = JSON.stringify({ chatId: 4711, text: 'hello' })

let database: TestDatabase
let service: Service
let root: Person
let clinic: Clinic
let patientId: number

const registered = (table: string) =>
  ROOT_SEALED.find((one) => one.table === table) as RootSealed & object
const sql = <T = any>(text: string, values: unknown[] = []) =>
  database.sql<T & object>(text, values)

beforeAll(async () => {
  database = await migratedDatabase()
  // Nothing listens on this port, so mails wait.
  const config = { SMTP_URL: 'smtp://127.0.0.1:1', EMAIL_VERIFICATION: 'optional' as const }
  service = await openService({ background: ['encryption', 'jobs', 'webhooks'], database, config })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
  await furnishAccount(service, clinic.people.auditor)
  patientId = (await furnishPatient(service, clinic)).patientId
  await service.call('GET', '/api/admin/audit/heads', { token: root.token })
  const { email } = clinic.people.nurse
  await service.call('POST', '/api/auth/request-reset', { body: { email, subdomain: 'north' } })
  await until('a mail waits', async () => {
    const [mail] = await sql(`select from pgboss.job where name = 'mail.send'`)
    return mail && true
  })
  const sealed = (table: string) => openSealer(OLD).seal(SAID, rootPlace(registered(table), HASH))
  await sql('insert into messenger_chats (hash) values ($1)', [HASH])
  await sql(
    `insert into messenger_codes (chat_hash, code_hash, sealed_chat, expires_at)
     values ($1, $1, $2, now() + interval '1 day')`,
    [HASH, sealed('messenger_codes')],
  )
  await sql(
    `insert into messenger_replies (chat_hash, is_answer, sealed_reply, expires_at)
     values ($1, false, $2, now() + interval '1 day')`,
    [HASH, sealed('messenger_replies')],
  )
})

/** Rotates as the command does. */
async function rotate(from: Buffer, to: Buffer) {
  const db = openScopes(database.address, {
    clock: systemTime,
    size: 1,
    changes: alone,
    log: silentLog,
  })
  const next = { key: to, from: 'ENCRYPTION_KEY_NEXT' }
  try {
    return await rotateRoot(db, {
      source: rootKeys(from, to),
      next: async () => next,
      sealed: ROOT_SEALED,
      eventTenantId,
      onProgress: () => undefined,
    })
  } finally {
    await db.close()
  }
}

/** Returns the tables that contain the name of this root key in any column. */
async function tablesSealedBy(key: Buffer): Promise<string[]> {
  const head = Buffer.concat([Buffer.of(2), Buffer.from(fingerprintOf(key), 'hex')])
  const tables = await sql<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind = 'r' and c.relnamespace in ('public'::regnamespace, 'pgboss'::regnamespace)`,
  )
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await sql(
      `select from ${name} t where strpos(t::text, $1) > 0 or strpos(t::text, $2) > 0 limit 1`,
      [`\\x${head.toString('hex')}`, head.toString('base64')],
    )
    if (rows.length > 0) found.push(name)
  }
  return found.sort()
}

const patient = (by = service, token = clinic.people.doctor.token) =>
  by.call('GET', `/api/patients/${patientId}`, { token })
const newest = () => sql('select fingerprint from root_keys where retired_at is null')

describe('a root key rotation while another process runs', () => {
  test('is refused with the name of the other process, and changes nothing', async () => {
    const [other] = await sql(
      `select pid from pg_stat_activity
       where datname = current_database() and application_name = 'wardkeep' order by backend_start`,
    )
    await expect(rotate(OLD, NEW)).rejects.toThrow(
      new RegExp(`is running on this database.*PID ${other.pid}[, ].*Stop every node`),
    )
    expect(await tablesSealedBy(NEW)).toEqual([])
    expect(await newest()).toEqual([{ fingerprint: fingerprintOf(OLD) }])
    expect((await patient()).status).toBe(200)
  })
})

describe('wardkeep keys rotate-root', () => {
  const env = (keys: Record<string, Buffer>) => ({
    DATABASE_URL: database.url,
    DATA_DIR: service.dataDir,
    ...Object.fromEntries(
      Object.entries(keys).map(([name, key]) => [name, key.toString('base64')]),
    ),
  })

  test('finds data to re-encrypt in each column, and the root key encrypts no other column', async () => {
    await service.close()
    // Saves the current content, like a dump. The last test restores it.
    await sql('create schema dump')
    for (const { table } of [...ROOT_SEALED, registered('root_keys')])
      await sql(`create table if not exists dump.${table.replace('pgboss.', '')} as table ${table}`)
    const expected = ROOT_SEALED.map(({ table }) => table).filter((name) => name !== 'root_keys')
    const found = (await tablesSealedBy(OLD)).filter((name) => !name.startsWith('dump.'))
    expect(found).toEqual(expected.sort())
  })

  test('requires the new key', async () => {
    const ended = await runCommand(['keys', 'rotate-root'], env({ ENCRYPTION_KEY: OLD }))
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(
      /^ENCRYPTION_KEY_NEXT_FILE: set it to a file with the new root key/,
    )
  })

  test('re-encrypts everything, and prints no key', async () => {
    const keys = { ENCRYPTION_KEY: OLD, ENCRYPTION_KEY_NEXT: NEW }
    const ended = await runCommand(['keys', 'rotate-root'], env(keys))
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
    const [former, current] = [fingerprintOf(OLD), fingerprintOf(NEW)]
    expect(ended.stdout).toContain(`Root key ${current} replaced ${former}.`)
    for (const key of [OLD, NEW])
      for (const text of [key.toString('base64'), key.toString('hex')])
        expect(ended.stdout + ended.stderr).not.toContain(text)
    expect(await tablesSealedBy(OLD)).toEqual([])
    expect(await tablesSealedBy(NEW)).toEqual(ROOT_SEALED.map(({ table }) => table).sort())
    const entries = await sql(
      `select j.resource_id, j.changes, t.is_platform from journal j
       left join tenants t on t.id = j.tenant_id where action = 'encryption.root_key_rotated'`,
    )
    expect(entries).toEqual([
      {
        resource_id: current,
        changes: { before: { root_key: former }, after: { root_key: current } },
        is_platform: true,
      },
    ])
  })

  test('reports when repeated that nothing is left to do, for each variable that can hold the key', async () => {
    for (const ENCRYPTION_KEY of [OLD, NEW]) {
      const keys = { ENCRYPTION_KEY, ENCRYPTION_KEY_NEXT: NEW }
      const ended = await runCommand(['keys', 'rotate-root'], env(keys))
      expect(ended, ended.stderr).toMatchObject({ code: 0 })
      expect(ended.stdout).toBe(`The root key of the database is already ${fingerprintOf(NEW)}.\n`)
    }
  })
})

describe('after a root key rotation', () => {
  test('startup fails with the former key, and one line names both keys', async () => {
    const config = { DATA_DIR: service.dataDir }
    const start = openService({
      background: ['encryption', 'jobs', 'webhooks'],
      database,
      config,
      rootKeys: rootKeys(OLD),
    })
    await expect(start).rejects.toThrow(
      `ENCRYPTION_KEY: the database is encrypted with another root key. It requires ${fingerprintOf(NEW)}. Configured: ${fingerprintOf(OLD)} (the test).`,
    )
  })

  test('users stay signed in, records are readable, waiting mails are sent and chats get replies', async () => {
    service = await openService({
      background: ['encryption', 'jobs', 'webhooks'],
      database,
      rootKeys: rootKeys(NEW),
    })
    expect((await patient()).body).toMatchObject({ full_name: 'Paula of north' })
    expect(service.logged).toContainEqual([
      'info',
      { root_key: fingerprintOf(NEW) },
      'root key verified',
    ])
    await hurry(database)
    const outbox = join(service.dataDir, 'outbox')
    await until('the mail is in the outbox', async () => {
      const mails = await readdir(outbox).catch(() => [])
      return mails.length > 0 || undefined
    })
    const sealer = openSealer(NEW)
    for (const table of ['messenger_codes', 'messenger_replies']) {
      const column = registered(table)
      const [row] = await sql(`select ${column.column} as sealed from ${table}`)
      expect(sealer.open(row.sealed, rootPlace(column, HASH)).toString()).toBe(SAID)
    }
    await service.close()
  })

  test('a former root key is refused as the new one', async () => {
    await expect(rotate(NEW, OLD)).rejects.toThrow(/was already used before/)
    expect(await newest()).toEqual([{ fingerprint: fingerprintOf(NEW) }])
  })

  test('only one of two concurrent root key rotations succeeds', async () => {
    const [one, two] = [Buffer.alloc(32, 21), Buffer.alloc(32, 22)]
    const ended = await Promise.allSettled([rotate(NEW, one), rotate(NEW, two)])
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const current = ended[0]?.status === 'fulfilled' ? one : two
    expect(await newest()).toEqual([{ fingerprint: fingerprintOf(current) }])
    await rotate(current, Buffer.alloc(32, 23))
    expect(await tablesSealedBy(current)).toEqual([])
    expect(await tablesSealedBy(NEW)).toEqual([])
  })

  test('a value that cannot be decrypted is named and stays unchanged, and other values are re-encrypted', async () => {
    const [from, to] = [Buffer.alloc(32, 23), Buffer.alloc(32, 24)]
    await sql(`update messenger_codes set sealed_chat = set_byte(sealed_chat, 40,
      get_byte(sealed_chat, 40) # 1)`)
    const { unreadable } = await rotate(from, to)
    expect(unreadable).toEqual([
      expect.stringMatching(/^messenger_codes[.]sealed_chat of row \w+ cannot be decrypted/),
    ])
    expect(await tablesSealedBy(from)).toEqual(['messenger_codes'])
  })

  test('a database dump from before the rotation can be read with the former root key', async () => {
    for (const { table, column, id } of ROOT_SEALED.filter((one) => one.table !== 'root_keys'))
      await sql(`update ${table} t set ${column} = d.${column}
        from dump.${table.replace('pgboss.', '')} d where d.${id.column} = t.${id.column}`)
    await sql('delete from root_keys')
    await sql('insert into root_keys table dump.root_keys')
    await sql('drop schema dump cascade')
    service = await openService({
      background: ['encryption', 'jobs', 'webhooks'],
      database,
      rootKeys: rootKeys(OLD),
    })
    expect((await patient()).body).toMatchObject({ full_name: 'Paula of north' })
    await service.close()
  })
})
