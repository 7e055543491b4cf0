/** A restore is refused if the database's safeguards differ from the release's schema. */
import { afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { ownerClient } from '../../src/platform/db/index.ts'
import { OF_THIS_DATABASE } from '../support/database.ts'
import { until } from '../support/until.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { make, passMaintenance } from './support.ts'

let at: Restoring
let root: Restoring['root']
let backup: string

beforeAll(async () => {
  at = await openRestoring()
  root = at.root
  backup = await make(at.service, root)
  await at.sql(`update users set full_name = 'Since' where role = 'nurse'`)
})

async function order(wanted: object): Promise<string> {
  const body = { backup_id: backup, confirm: true, ...wanted }
  const answer = await at.call(root, 'POST', '/api/admin/backup/restore', body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.job_id
}

/** Returns the rows of every table that a restore writes. */
const rowsNow = () =>
  at.sql(`select (select json_agg(u order by id) from users u) as users,
    (select json_agg(t order by id) from tenants t) as tenants,
    (select json_agg(d order by id) from departments d) as departments,
    (select count(*)::int from sessions) as sessions, (select count(*)::int from backups) as backups`)

/** A fault of the safeguards, the name that the message contains, and the statement that repairs the fault. */
const FAULTS = [
  [
    'no additional grants',
    'grant delete on journal to wardkeep_app',
    'grants on journal to wardkeep_app',
    'revoke delete on journal from wardkeep_app',
  ],
  [
    'no grants to PUBLIC',
    'grant select on users to public',
    'grants on users to PUBLIC',
    'revoke select on users from public',
  ],
  [
    'the write protection trigger of the journal',
    'alter table journal disable trigger journal__append_only',
    'trigger journal__append_only on journal',
    'alter table journal enable trigger journal__append_only',
  ],
  [
    'the foreign key checks',
    'alter table departments disable trigger all',
    /trigger "RI_ConstraintTrigger_\w+" on departments/,
    'alter table departments enable trigger all',
  ],
  [
    'row-level security for the table owner',
    'alter table users no force row level security',
    'row security of users',
    'alter table users force row level security',
  ],
] as const

let mend: string | undefined
afterEach(async () => {
  if (mend) await at.sql(mend)
  mend = undefined
})

test.each(FAULTS)(
  'a restore fails before maintenance mode begins if this safeguard is missing: %s',
  async (...fault) => {
    const [, text, named, back] = fault
    await at.sql(text)
    mend = back
    const before = await rowsNow()
    for (const wanted of [{}, { tenant_id: at.north.id }, { dry_run: true }]) {
      const { status, error } = await at.over(await order(wanted))
      expect(status).toBe('failed')
      expect(error).toMatch(
        /^Refused: these safeguards of the database differ from this release: .+[.]$/,
      )
      expect(error).toMatch(named)
      expect((await at.call(root, 'GET', '/api/users/me')).status).toBe(200)
    }
    expect(await rowsNow()).toEqual(before)
  },
)

test('a restore fails if a safeguard is removed during maintenance mode', async () => {
  const before = await rowsNow()
  const other = ownerClient(at.service.database.address)
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('begin; lock table users in row exclusive mode')
  const job = await order({})
  await passMaintenance(at.service, job)
  await until('the restore to wait for who writes', async () => {
    const [row] = await at.sql(
      `select from pg_locks where relation = 'users'::regclass and not granted and ${OF_THIS_DATABASE}`,
    )
    return row
  })
  expect((await at.call(root, 'GET', '/api/users/me')).status).toBe(503)
  await at.sql('grant select on users to public')
  mend = 'revoke select on users from public'
  await other.query('rollback')
  const { status, error } = await at.over(job)
  expect({ status, error }).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/grants on users to PUBLIC/),
  })
  await until('the service to be open', async () => {
    const { status } = await at.call(root, 'GET', '/api/users/me')
    return status === 200 || undefined
  })
  expect(await rowsNow()).toEqual(before)
})

test('a restore works again once the safeguard is repaired', async () => {
  await at.restore(root, { backup_id: backup })
  expect(await at.nameOf(at.north.people.nurse.id)).toBe('nurse of north')
})
