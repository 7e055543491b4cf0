/** Fills the database of a data folder that the service has migrated. */
import { hash } from '@node-rs/argon2'
import pg from 'pg'
import { copyInto, withoutIndexes } from './copy.ts'
import { seedCounts } from './counts.ts'
import { ENTRY_COLUMNS, entryRows, makePastPartitions } from './journal.ts'
import { seedPayments } from './payments.ts'
import {
  DEPARTMENT_COLUMNS,
  departmentRows,
  TENANT_COLUMNS,
  tenantRows,
  USER_COLUMNS,
  userRows,
} from './people.ts'
import { PASSWORD, PASSWORD_COST, type Size } from './sizes.ts'

/** The number of entries in one COPY, and therefore in one transaction. */
const BATCH = 250_000

export async function seed(
  database: pg.ClientConfig,
  size: Size,
  say: (what: string) => void,
): Promise<void> {
  const client = new pg.Client(database)
  await client.connect()
  try {
    // Seeded rows need no constraint checks, and need not be flushed to disk.
    await client.query(`
      set session_replication_role = replica;
      set synchronous_commit = off;
      set maintenance_work_mem = '1GB'`)
    await seedPeople(client, size, say)
    await seedJournal(client, size, say)
    say('counts over time')
    await seedCounts(client)
    if (size.paymentsPerTenant) {
      await seedPayments(client, size, say)
      for (const table of ['payments', 'payment_notifications']) await moveSequence(client, table)
    }
    say('vacuum and analyze')
    await client.query('vacuum (analyze)')
    await client.query('checkpoint')
  } finally {
    await client.end()
  }
}

async function seedPeople(
  client: pg.Client,
  size: Size,
  say: (what: string) => void,
): Promise<void> {
  const now = Date.now()
  const passwordHash = await hash(PASSWORD, PASSWORD_COST)
  await copyInto(client, 'tenants', TENANT_COLUMNS, tenantRows(size, now))
  const load = async () => {
    await copyInto(client, 'departments', DEPARTMENT_COLUMNS, departmentRows(size))
    say(`${(size.tenants * size.usersPerTenant).toLocaleString('en-US')} users`)
    await copyInto(client, 'users', USER_COLUMNS, userRows(size, passwordHash, now))
  }
  await withoutIndexes(client, ['departments', 'users'], load, say)
  for (const table of ['tenants', 'departments', 'users']) await moveSequence(client, table)
}

async function seedJournal(
  client: pg.Client,
  size: Size,
  say: (what: string) => void,
): Promise<void> {
  const now = Date.now()
  const entries = size.tenants * size.entriesPerTenant
  await makePastPartitions(client)
  const load = async () => {
    for (let from = 0; from < entries; from += BATCH) {
      const until = Math.min(from + BATCH, entries)
      await copyInto(client, 'journal', ENTRY_COLUMNS, entryRows(size, from, until, now))
      say(`${until.toLocaleString('en-US')} of ${entries.toLocaleString('en-US')} entries`)
    }
  }
  await withoutIndexes(client, ['journal'], load, say)
  await moveSequence(client, 'journal')
}

/** Advances a sequence past the seeded ids. */
async function moveSequence(client: pg.Client, table: string): Promise<void> {
  await client.query(
    `select setval(pg_get_serial_sequence('${table}', 'id'), (select max(id) from ${table}))`,
  )
}
