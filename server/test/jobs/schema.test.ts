/** The tables of jobs are what the installed pg-boss expects, and open to nobody who need not. */
import pg from 'pg'
import { getConstructionPlans, PgBoss } from 'pg-boss'
import { expect, it } from 'vitest'
import { dumpSchema } from '../../src/platform/db/schema-dump.ts'
import { emptyDatabase, migratedDatabase, type TestDatabase } from '../support/database.ts'

/** What the database has in schema pgboss, without the grants, a statement an entry. */
async function statementsIn(database: TestDatabase): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    return (await dumpSchema(client))
      .replaceAll(/\s+/g, ' ')
      .split(/(?<=;) (?=CREATE|GRANT|ALTER|REVOKE|COMMENT)/)
      .filter((statement) => /\bpgboss\b/.test(statement) && !/^(GRANT|REVOKE)/.test(statement))
      .map((statement) => statement.trim())
      .toSorted()
  } finally {
    await client.end()
  }
}

it('the migration makes what this version of pg-boss would make itself', async () => {
  const [ours, theirs] = [await migratedDatabase(), await emptyDatabase()]
  await theirs.sql(getConstructionPlans('pgboss'))
  const expected = await statementsIn(theirs)
  expect(expected.length).toBeGreaterThan(15)
  expect(await statementsIn(ours)).toEqual(expected)
  const version = 'select version from pgboss.version'
  expect(await ours.sql(version)).toEqual(await theirs.sql(version))
})

it('pg-boss itself finds nothing amiss, down to the indexes of the partition that holds the jobs', async () => {
  const database = await migratedDatabase()
  const db = { executeSql: async (text: string) => ({ rows: await database.sql(text) }) }
  const { ok, extraIndexes } = await new PgBoss({ db, migrate: false }).detectSchemaDrift()
  expect({ ok, extraIndexes }).toEqual({ ok: true, extraIndexes: [] })
  await database.sql('drop index pgboss.job_common_i11')
  expect(await new PgBoss({ db, migrate: false }).detectSchemaDrift()).toMatchObject({ ok: false })
})

it.each([
  ['reads what jobs hold', 'select data from pgboss.job_common'],
  ['takes a job away', 'delete from pgboss.job_common'],
  ['changes a job', `update pgboss.job_common set data = '{}'`],
  ['makes a queue', `select pgboss.create_queue('mine', '{"policy": "short"}')`],
  ['schedules', `insert into pgboss.schedule (name, cron) values ('mail.send', '* * * * *')`],
])('a request that %s is refused', async (_, statement) => {
  const database = await migratedDatabase()
  await expect(asRole(database, 'wardkeep_app', statement)).rejects.toThrow('permission denied')
})

it('the worker may not change the tables', async () => {
  const database = await migratedDatabase()
  for (const statement of [
    'drop table pgboss.job_dependency',
    'create table pgboss.mine (id int)',
    `select pgboss.create_queue('mine', '{"policy": "short", "partition": true}')`,
  ])
    await expect(asRole(database, 'wardkeep_platform', statement)).rejects.toThrow(
      /permission denied|must be owner/,
    )
})

async function asRole(database: TestDatabase, role: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query(`set role ${role}`)
    await client.query(statement)
  } finally {
    await client.end()
  }
}
