/** The migration that adds marks to the journal, on databases with and without earlier entries. */
import { expect, it } from 'vitest'
import { migrate, readMigrations } from '../../src/platform/schema/migrate.ts'
import { emptyDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'

it.each([
  ['records the time of the upgrade if there are earlier entries', 1],
  ['allows no entries without a mark in a new database', 0],
])('the migration %s', async (_, count) => {
  const { sql, address } = await emptyDatabase()
  const all = await readMigrations()
  const older = all.filter(({ version }) => version < 30)
  await migrate(address, silentLog, older)
  await sql(
    `insert into journal (action, resource_type)
     select 'user.created', 'user' from generate_series(1, $1::int)`,
    [count],
  )
  await migrate(address, silentLog, all)
  expect(await sql('select from journal_marks')).toHaveLength(count)
})
