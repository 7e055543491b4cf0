/** Kills a restore with SIGKILL at each of its steps. Every table keeps its old state, and maintenance mode ends. */
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { ownerClient, type PgConnection } from '../../src/platform/db/index.ts'
import { signIn } from '../support/clinics.ts'
import { command } from '../support/process.ts'
import { ROOT_KEY, SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { type ByCommand, openByCommand } from './command-scene.ts'

let at: ByCommand
let id: string

beforeAll(async () => {
  at = await openByCommand()
  id = (await at.made()).backup.backup_id
  await at.service.database.sql(
    `update users set full_name = 'Since'; update departments set name = 'Since' where id = ${at.clinic.departmentId}`,
  )
  return at.close
})

let other: PgConnection

beforeEach(async () => {
  other = ownerClient(at.service.database.address)
  other.on('error', () => undefined)
  await other.connect()
  onTestFinished(() => other.end())
})

const namesNow = () =>
  at.service.database.sql(
    `select array_agg(distinct u.full_name) as users, max(d.name) as department
     from users u, departments d where d.id = ${at.clinic.departmentId}`,
  )

const WRITTEN = 'select from users for update'
/** The locks at which the restore blocks. Each lock is one step later than the previous one. */
const STEPS = [
  // This step must be the first, because a later process writes to this table at its start, to mark the killed job as
  // failed.
  ['everything', 'the safety backup begins', 'lock table backups in share mode'],
  ['everything', 'the restore waits for writers', 'lock table users in row exclusive mode'],
  ['one clinic', 'rows are written', WRITTEN],
  ['everything', 'rows are written', WRITTEN],
] as const

/** Signs the person in. Returns a function that sends a request and returns the response status. */
async function asking(person: Parameters<typeof signIn>[1]) {
  const { access_token: token } = await signIn(at.service, person)
  return async () => (await at.service.call('GET', '/api/users/me', { token })).status
}
/** Kills a restore when it waits for the lock. Then waits until requests are served again. */
async function killWaiting(args: string[], held: string, ask: () => Promise<number>) {
  await other.query(`begin; ${held}`)
  const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid')
  const run = command(['backup', 'restore', id, '--yes', ...args], {
    DATABASE_URL: at.service.database.url,
    ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
    DATA_DIR: at.folder,
    BACKUP_DIR: at.folder,
  })
  await until('the restore to wait', async () => {
    const [waiting] = await at.service.database.sql(
      'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
      [rows[0]?.pid],
    )
    return waiting
  })
  expect(await ask()).toBe(503)
  run.signal('SIGKILL')
  await run.ended
  // Maintenance mode ends although the interrupted statement would keep waiting for its lock.
  await until('the service to be open', async () => (await ask()) === 200 || undefined)
  await other.query('rollback')
  expect(await namesNow()).toEqual([{ users: ['Since'], department: 'Since' }])
}

test.each(STEPS)(
  'the service recovers from a restore of %s that is killed when %s',
  async (what, _step, held) => {
    const operator = await asking({ ...SUPERADMIN, subdomain: 'platform' })
    if (what === 'everything') return killWaiting([], held, operator)
    const nurse = await asking({ ...at.clinic.people.nurse, subdomain: 'north' })
    await killWaiting(['--tenant', String(at.clinic.id)], held, async () => {
      expect(await operator()).toBe(200)
      return nurse()
    })
  },
)

test('the next restore marks the job and the safety backup of a killed restore as failed, and then succeeds', async () => {
  const { sql } = at.service.database
  const [half] = [randomUUID()]
  // Simulates a process that was killed while it wrote its safety backup.
  await sql(`insert into backups (id, type, reason) values ($1, 'full', 'safety')`, [half])
  await sql(
    `update backup_jobs set status = 'running', started_at = now()
     where kind = 'restore' and status = 'failed' and number = (select max(number) from backup_jobs)`,
  )
  await writeFile(at.fileOf(half), 'half of it')
  const ended = await at.run(['restore', id, '--yes'])
  expect(ended.code, ended.stderr).toBe(0)
  const [{ users, department } = {}] = await namesNow()
  expect([users, department]).toEqual([expect.not.arrayContaining(['Since']), 'Surgery'])
  const unfinished = `select from backup_jobs where status in ('queued', 'running')`
  expect(await sql(unfinished)).toEqual([])
  expect(await sql('select status from backups where id = $1', [half])).toEqual([
    { status: 'failed' },
  ])
})
