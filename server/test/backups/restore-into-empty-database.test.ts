/** Restores a backup into an empty database. Checks which rows the restore writes, and when it refuses. */
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Header } from '../../src/features/backups/file/format.ts'
import { readBackup } from '../../src/features/backups/file/read.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { restoreBackupFile } from '../../src/open-features.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import { migrate } from '../../src/platform/schema/migrate.ts'
import { dumpSchema } from '../../src/platform/schema/schema-dump.ts'
import { enrol, login } from '../second-factor/enrol.ts'
import { codeOf } from '../support/accounts.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { emptyDatabase, migratedDatabase, type TestDatabase } from '../support/database.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { laterMigrations } from './later-release.ts'
import { backupKeys, fileOf, make, rewritten as rewrittenBytes } from './support.ts'

type Change = Parameters<typeof rewrittenBytes> extends [string, ...infer Rest] ? Rest : never

const LONG_AGO = new Date(Date.now() - 150 * 24 * 60 * 60 * 1000).toISOString()

let service: Service
let root: Person
let north: Clinic
let file: string
let secret: string
/** The rows of the database by table, which the restore must reproduce. */
let before: Record<string, string[]>
let tables: Header['tables']

beforeAll(async () => {
  service = await openService({ background: ['backups', 'jobs', 'webhooks'] })
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  const { token } = north.people.admin
  secret = (await enrol(service, north.people.doctor.token)).secret
  const call = async (path: string, body: object) => {
    const { status } = await service.call('POST', path, { token, body })
    expect(status, path).toBe(201)
  }
  await call('/api/patients', { full_name: 'Paula Patient', department_id: north.departmentId })
  await call('/api/webhooks/register', { url: 'http://127.0.0.1:9/hook', events: ['user.*'] })
  // Heads of departments create a cycle of foreign keys.
  await service.call('PUT', `/api/admin/departments/${north.departmentId}`, {
    token,
    body: { head_doctor_id: north.people.doctor.id },
  })
  await longAgo()
  file = join(await mkdtemp(join(tmpdir(), 'wardkeep-backup-')), 'backup.tar.zst.age')
  atTheEnd(() => rm(dirname(file), { recursive: true }))
  await copyFile(fileOf(service, await make(service, root)), file)
  const { header } = await readBackup(createReadStream(file), await backupKeys(), {})
  tables = header.tables
  await service.close()
  before = await rowsOf(service.database)
})

/** Adds a journal entry and a delivery of a past month and day, for which a new database has no partitions. */
async function longAgo(): Promise<void> {
  await service.database.sql('select ensure_journal_partitions(0, 6)')
  await service.database.sql(
    `insert into journal (created_at, tenant_id, action, resource_type, resource_id)
     values ('${LONG_AGO}', $1, 'user.created', 'user', '1')`,
    [north.id],
  )
  const day = LONG_AGO.slice(0, 10)
  await service.database.sql(`select ensure_webhook_partitions('${day}', '${day}')`)
  await service.database.sql(
    `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, due_at)
     select tenant_id, id, 1, '${LONG_AGO}', 'user.created', now() + interval '1 day' from webhooks`,
  )
}

/** Returns the rows that the backup contains, without journal entries written later. */
async function rowsOf({ sql }: TestDatabase): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {}
  for (const { name } of tables) {
    const newer = name === 'journal' ? `where action not like 'backup.%'` : ''
    // The position of a journal consumer advances without user activity, so the test does not compare it.
    const text = name === 'journal_consumers' ? 'consumer' : `t::text`
    const rows = await sql<{ row: string }>(
      `select ${text} as row from ${name} t ${newer} order by 1`,
    )
    all[name] = rows.map(({ row }) => row)
  }
  return all
}

const restore = (
  { address }: Pick<TestDatabase, 'address'>,
  path = file,
  options: Partial<Parameters<typeof restoreBackupFile>[1]> = {},
) =>
  restoreBackupFile(path, {
    address,
    rootKeys: [ROOT_KEY],
    log: silentLog,
    store: folderStore(dirname(path)),
    ...options,
  })

/** Writes the same backup to its own file, with changes. */
async function rewritten(...change: Change): Promise<string> {
  const path = join(await scratch(), 'rewritten.tar.zst.age')
  await writeFile(path, rewrittenBytes(file, ...change))
  return path
}

const isEmpty = async ({ sql }: TestDatabase) =>
  (await sql(`select from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`))
    .length === 0

/** Returns the indexes and constraints of all tables. The schema dump omits those of partitions. */
const keysOf = async ({ sql }: TestDatabase) => {
  const rows = await sql<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) || case
         when indisvalid and indisready then '' else ' not valid' end as definition from pg_index
       where indrelid::regclass::text !~ '^pg_'
     union all
     select conrelid::regclass || '.' || conname, pg_get_constraintdef(oid) || case
         when convalidated then '' else ' not valid' end from pg_constraint where conrelid <> 0`,
  )
  return Object.fromEntries(rows.map(({ name, definition }) => [name, definition]))
}

async function schemaOf({ address }: TestDatabase): Promise<string> {
  const client = ownerClient(address)
  await client.connect()
  return dumpSchema(client).finally(() => client.end())
}

/** Creates an empty database owned by a role with only the documented privileges. */
async function ordinaryOwner(): Promise<{ database: TestDatabase; url: string }> {
  const database = await emptyDatabase()
  const role = `wk_owner_${randomBytes(4).toString('hex')}`
  await database.sql(`create role ${role} login nosuperuser nobypassrls createrole password 'weak'`)
  // Runs in one statement. Otherwise other services on the server would briefly see, and report, a role member that
  // owns no database.
  await database.sql(
    `grant wardkeep_app, wardkeep_platform to ${role} with admin option;
     do $$ begin execute format('alter database %I owner to ${role}', current_database()); end $$`,
  )
  onTestFinished(async () => {
    await database.sql(
      `reassign owned by ${role} to current_user; drop owned by ${role} cascade; drop role ${role}`,
    )
  })
  const url = new URL(database.url)
  url.username = role
  url.password = 'weak'
  return { database, url: url.href }
}

describe('after a restore into an empty database', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await emptyDatabase()
    await restore(database)
  })

  test('every row equals the original row, in the schema that the migrations create', async () => {
    const after = await rowsOf(database)
    for (const { name } of tables) expect(after[name], name).toEqual(before[name])
    expect(await schemaOf(database)).toBe(await schemaOf(await migratedDatabase()))
    const off = await database.sql(
      `select tgname from pg_trigger where not tgisinternal and tgenabled <> 'O'`,
    )
    expect(off).toEqual([])
  })

  test('every key, index and foreign key has the same name as in a new database, on partitions too', async () => {
    const after = await keysOf(database)
    expect(after).toMatchObject(await keysOf(await migratedDatabase()))
    const month = LONG_AGO.slice(0, 7).replace('-', '_')
    expect(after[`journal_${month}_pkey`]).toMatch(/UNIQUE INDEX/)
    const invalid = Object.entries(after).filter(([, definition]) => /not valid/.test(definition))
    expect(invalid).toEqual([])
  })

  test('each journal action is in the list of searchable actions', async () => {
    const missing = await database.sql(
      'select action from journal except select action from journal_actions',
    )
    expect(missing).toEqual([])
  })

  test('the journal is still protected against changes', async () => {
    for (const change of [
      `update journal set action = 'x'`,
      'delete from journal',
      'truncate journal',
    ])
      await expect(database.sql(change), change).rejects.toThrow('append-only')
  })

  test('pending deliveries are due again', async () => {
    const [queue] = await database.sql('select due_at is not null as due from webhook_queues')
    expect(queue).toEqual({ due: true })
  })

  test('no session is restored, no sequence number is reused, and the installation ID stays the same', async () => {
    expect(await database.sql('select from sessions')).toEqual([])
    expect(await database.sql('select from signing_keys')).toEqual([])
    for (const table of ['users', 'key_encryption_keys']) {
      const [next] = await database.sql<{ next: number; highest: number }>(
        `select nextval(pg_get_serial_sequence('${table}', 'id'))::float8 as next, max(id)::float8 as highest
         from ${table}`,
      )
      expect(next?.next, table).toBeGreaterThan((next?.highest ?? 0) + 1_000_000)
    }
    expect(await database.sql('select id from installation')).toEqual(
      await service.database.sql('select id from installation'),
    )
  })

  test('people sign in as before, with their second factor, and see their records', async () => {
    const moved = await openService({ database })
    moved.clock.advance(service.clock.now() - moved.clock.now() + 60_000)
    const code = codeOf(moved, secret)
    expect((await login(moved, north.people.doctor, { totp_code: code })).status).toBe(200)
    const { body } = await login(moved, north.people.admin)
    const patients = await moved.call('GET', '/api/patients', { token: body.access_token })
    expect(patients.body.items[0]).toMatchObject({ full_name: 'Paula Patient' })
  })
})

test('a database owner with only the documented privileges can restore', async () => {
  const { database, url } = await ordinaryOwner()
  await restore({ address: { url } })
  const after = await rowsOf(database)
  for (const { name } of tables) expect(after[name], name).toEqual(before[name])
})

test('restoring a backup of an older schema creates that schema, then runs the newer migrations', async () => {
  const database = await emptyDatabase()
  await restore(database, file, { migrations: await laterMigrations() })
  expect(await database.sql('select from users where later <> role or later is null')).toEqual([])
})

test('journal entries with higher transaction IDs are renumbered with their rows, and consumers continue', async () => {
  const database = await emptyDatabase()
  const ahead = (fields: string[], at: number) =>
    fields.with(at, String(Number(fields[at]) + 1_000_000_000)).join('\t')
  const columnsOf = (name: string) => tables.find((table) => table.name === name)?.columns ?? []
  const path = await rewritten(
    (header) => header,
    (name, text) =>
      name === 'journal' || name === 'journal_consumers'
        ? text.replace(/^.+$/gm, (line) => ahead(line.split('\t'), columnsOf(name).indexOf('xid')))
        : text,
  )
  const said: string[] = []
  const warn: typeof silentLog.warn = (...words: unknown[]) => void said.push(words.join(' '))
  await restore(database, path, { log: { ...silentLog, warn } })
  expect(said).toEqual([])
  const unread = ({ sql }: TestDatabase) =>
    sql(`select consumer, (select count(*)::int from journal j where (j.xid, j.id) > (c.xid, c.id)) as left
         from journal_consumers c order by 1`)
  const unmoved = await emptyDatabase()
  await restore(unmoved)
  expect(await unread(database)).not.toEqual([])
  expect(await unread(database)).toEqual(await unread(unmoved))
  const ofTomorrow = await database.sql(
    'select from journal where xid >= pg_snapshot_xmin(pg_current_snapshot())',
  )
  expect(ofTomorrow).toEqual([])
  expect(await schemaOf(database)).toBe(await schemaOf(await migratedDatabase()))
})

describe('a restore is refused and the database stays empty', () => {
  async function refusal(path: string, options?: Parameters<typeof restore>[2]): Promise<string> {
    const database = await emptyDatabase()
    const error = await restore(database, path, options).then(
      () => new Error('it was restored'),
      (thrown: Error) => thrown,
    )
    expect(error.name, error.stack).toBe('StartupError')
    expect(await isEmpty(database)).toBe(true)
    return error.message
  }

  async function changed(change: (bytes: Buffer) => Buffer): Promise<string> {
    const path = join(await scratch(), 'changed.tar.zst.age')
    await writeFile(path, change(await readFile(file)))
    return path
  }

  test('if another root key is configured', async () => {
    expect(await refusal(file, { rootKeys: [Buffer.alloc(32, 9)] })).toMatch(
      /the configured root key does not decrypt it/,
    )
  })

  test('if the file is truncated, even within the last bytes', async () => {
    const { length } = await readFile(file)
    for (const end of [100, Math.floor(length / 2), length - 1])
      expect(await refusal(await changed((bytes) => bytes.subarray(0, end)))).toMatch(/./)
  })

  test('if the file was altered', async () => {
    const flip = (bytes: Buffer) => {
      const at = bytes.length - 50
      bytes[at] = (bytes[at] ?? 0) ^ 1
      return bytes
    }
    expect(await refusal(await changed(flip))).toMatch(/altered|cut/)
  })

  test('if the backup has a newer schema, different migrations or only one clinic', async () => {
    const newer = await rewritten((header) => ({ ...header, schema_version: 9_999 }))
    expect(await refusal(newer)).toMatch(
      /schema version 9999, but this release only supports up to \d+/,
    )
    const other = await rewritten((header) => ({
      ...header,
      migrations: header.migrations.map((one) => ({ ...one, checksum: 'other' })),
    }))
    expect(await refusal(other)).toMatch(/different migrations/)
    expect(await refusal(await rewritten((header) => ({ ...header, type: 'tenant' })))).toMatch(
      /one tenant/,
    )
  })

  test('if the backup has dangling references or no active superadmin', async () => {
    const dangling = await rewritten(
      (header) => header,
      (table, text) =>
        table === 'departments' ? text.replace(/^(\d+)\t\d+/gm, '$1\t987654') : text,
    )
    expect(await refusal(dangling)).toMatch(/is inconsistent/)
    const headless = await rewritten(
      (header) => header,
      (table, text) => (table === 'users' ? text.replaceAll('superadmin', 'admin') : text),
    )
    expect(await refusal(headless)).toMatch(/no superadmin/)
  })

  test('if the backup has duplicate keys or duplicate addresses', async () => {
    const doubled = (table: string, of: (line: string) => string) =>
      rewritten(
        (header) => header,
        (name, text) => (name === table ? `${text}${of(text.split('\n')[0] ?? '')}\n` : text),
      )
    const twin = await doubled('departments', (line) => line)
    expect(await refusal(twin)).toMatch(/is inconsistent: .*"departments_\w+"/)
    const namesake = await doubled('users', (line) => line.replace(/^\d+/, '987654'))
    expect(await refusal(namesake)).toMatch(/is inconsistent: .*"users__email"/)
    const entry = await doubled('journal', (line) => line)
    expect(await refusal(entry)).toMatch(/is inconsistent: .*"journal_\w+_pkey"/)
  })

  test('if the file is missing', async () => {
    expect(await refusal('/nowhere/at/all')).toMatch(/could not be read/)
  })
})

test('a restore into a database that is not empty is refused, and changes nothing', async () => {
  const database = await migratedDatabase()
  await expect(restore(database)).rejects.toThrow(/not empty/)
  expect(await database.sql('select from users')).toEqual([])
  await migrate(database.address, silentLog)
})
