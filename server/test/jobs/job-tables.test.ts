/** The tables of jobs. They match the installed pg-boss, and only the roles that need access have it. */
import pg from 'pg'
import { getConstructionPlans, PgBoss } from 'pg-boss'
import { expect, it } from 'vitest'
import { dumpSchema } from '../../src/platform/schema/schema-dump.ts'
import { emptyDatabase, migratedDatabase, type TestDatabase } from '../support/database.ts'

/** Returns the definitions in schema pgboss, without grants, as one statement per entry. */
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

it('the migration creates the same schema as this version of pg-boss', async () => {
  const [ours, theirs] = [await migratedDatabase(), await emptyDatabase()]
  await theirs.sql(getConstructionPlans('pgboss'))
  const expected = await statementsIn(theirs)
  expect(expected.length).toBeGreaterThan(15)
  expect(await statementsIn(ours)).toEqual(expected)
  const version = 'select version from pgboss.version'
  expect(await ours.sql(version)).toEqual(await theirs.sql(version))
})

it('the job schema passes the check of pg-boss, including the indexes of the job partition', async () => {
  const database = await migratedDatabase()
  const db = { executeSql: async (text: string) => ({ rows: await database.sql(text) }) }
  const { ok, extraIndexes } = await new PgBoss({ db, migrate: false }).detectSchemaDrift()
  expect({ ok, extraIndexes }).toEqual({ ok: true, extraIndexes: [] })
  await database.sql('drop index pgboss.job_common_i11')
  expect(await new PgBoss({ db, migrate: false }).detectSchemaDrift()).toMatchObject({ ok: false })
})

it.each([
  ['reads the data of jobs', 'select data from pgboss.job_common'],
  ['deletes a job', 'delete from pgboss.job_common'],
  ['changes a job', `update pgboss.job_common set data = '{}'`],
  ['creates a queue', `select pgboss.create_queue('mine', '{"policy": "short"}')`],
  ['adds a schedule', `insert into pgboss.schedule (name, cron) values ('mail.send', '* * * * *')`],
])('the application role cannot execute a statement that %s', async (_, statement) => {
  const database = await migratedDatabase()
  await expect(asRole(database, 'wardkeep_app', statement)).rejects.toThrow('permission denied')
})

it('the worker role cannot change any job table', async () => {
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
