/** Background work pauses while a restore runs, and does not make the restore fail. */
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { ownerClient, type PgConnection } from '../../src/platform/db/index.ts'
import { LOCKS } from '../../src/platform/db/lock-numbers.ts'
import { isBackedUp } from '../../src/platform/feature/restore-rule.ts'
import type { Clinic } from '../support/clinics.ts'
import { openReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { clinicOn } from '../webhooks/clinic.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { contents, fileOf, make, passMaintenance } from './support.ts'
import { workOn } from './worker-scene.ts'

let at: Restoring
/** The clinic of the test. */
let clinic: Clinic

beforeAll(async () => {
  at = await openRestoring({ background: ['backups', 'jobs', 'webhooks'] })
})

beforeEach(async () => {
  clinic = await at.anotherClinic()
})

/** Creates a webhook of the clinic for all events. Returns the messages that it has received. */
async function hearing(clinic: Clinic) {
  const receiver = await openReceiver()
  const { id } = await clinicOn(at.service, clinic).register({ url: receiver.url })
  return { id, receiver }
}

/** Publishes an event of a clinic on any node. */
const happens = ({ id }: Clinic) =>
  at.sql(
    `insert into journal (tenant_id, action, resource_type, resource_id, changes)
     values ($1, 'user.updated', 'user', '1', '{}')`,
    [id],
  )

/** Opens another connection, which acts as another user of the database. */
async function somebody({ service }: Restoring = at): Promise<PgConnection> {
  const client = ownerClient(service.database.address)
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

test('a restore of everything succeeds at the first attempt while a process that was not notified keeps writing', async () => {
  const id = await make(at.service, at.root)
  const webhook = await hearing(clinic)
  let isOver = false
  const writing = (async () => {
    for (; !isOver; )
      try {
        await at.sql('update webhook_queues set due_at = now() where webhook_id = $1', [webhook.id])
        await at.sql('update users set last_login_at = now()')
        await happens(clinic)
      } catch (error) {
        // Locking every table can deadlock with a writer, and PostgreSQL may abort either. Writers start again.
        expect(error).toMatchObject({ code: '40P01' })
      }
  })()
  const { tables } = await at.restore(at.root, { backup_id: id }).finally(() => {
    isOver = true
  })
  await writing
  expect(tables.webhooks).toMatchObject({ removed: 1 })
  expect(await at.sql('select from webhook_queues where webhook_id = $1', [webhook.id])).toEqual([])
  const safeties = await at.sql(`select from backups where reason = 'safety'`)
  expect(safeties).toHaveLength(1)
})

/** Wraps a connection so that the restore waits for writers only briefly, instead of a minute. */
function impatient({ service }: Restoring): PgConnection {
  const client = ownerClient(service.database.address)
  const query = client.query.bind(client) as (...given: unknown[]) => unknown
  const shorter = (text: unknown) =>
    typeof text === 'string' ? text.replace("lock_timeout = '60s'", "lock_timeout = '50ms'") : text
  return Object.assign(client, {
    query: (text: unknown, ...rest: unknown[]) => query(shorter(text), ...rest),
  })
}

test('a restore of everything fails with an explanation if another transaction writes for too long', async () => {
  const own = await openRestoring({ role: 'api' })
  const { service, root, north } = own
  const rules = service.app.tables
  await workOn(service, folderStore(`${service.dataDir}/backups`), {
    openConnection: () => impatient(own),
    tables: Object.keys(rules).filter((name) => isBackedUp(rules[name])),
  })
  const id = await make(service, root)
  await own.rename(root, north.people.nurse.id, 'Since')
  const other = await somebody(own)
  await other.query(`begin; update users set full_name = full_name where id = ${root.id}`)
  await expect(own.restore(root, { backup_id: id })).rejects.toThrow(
    /^Nothing was restored, because a transaction has been writing to the database for more than a minute. Find it in/,
  )
  await other.query('rollback')
  expect(await own.nameOf(north.people.nurse.id)).toBe('Since')
  await until('the service to be open', async () => {
    const { status } = await own.call(root, 'GET', '/api/users/me')
    return status === 200 || undefined
  })
})

test('a restore of a clinic waits for a transaction that writes to it, and saves those rows in the safety backup', async () => {
  const { nurse } = clinic.people
  const id = await make(at.service, at.root, { type: 'tenant', tenant_id: clinic.id })
  await at.rename(at.root, nurse.id, 'Since')
  const other = await somebody()
  await other.query('begin')
  await other.query(`update users set full_name = 'Just Now' where id = $1`, [nurse.id])
  const restored = at.restore(at.root, { backup_id: id })
  await until('the restore to wait for them', async () => {
    const [row] = await at.sql(
      `select from pg_stat_activity where datname = current_database()
       and $1 = any(pg_blocking_pids(pid))`,
      [await pidOf(other)],
    )
    return row
  })
  await other.query('commit')
  const { safety_backup_id } = await restored
  // The restore was retried, and its second safety backup replaced the first.
  const safeties = `select id, status from backups where reason = 'safety' and tenant_id = $1`
  expect(await at.sql(safeties, [clinic.id])).toEqual([
    { id: safety_backup_id, status: 'completed' },
  ])
  expect(await at.nameOf(nurse.id)).toBe(`nurse of ${clinic.subdomain}`)
  const safety = await contents(fileOf(at.service, safety_backup_id))
  expect(safety.rowsOf('users').find((row) => row.id === String(nurse.id))?.full_name).toBe(
    'Just Now',
  )
})

test('a restore changes nothing after another process has ended its job, and keeps a later safety backup', async () => {
  const { nurse } = clinic.people
  const id = await make(at.service, at.root, { type: 'tenant', tenant_id: clinic.id })
  await at.rename(at.root, nurse.id, 'Since')
  const other = await somebody()
  // Locks the row of the safety backup.
  await other.query('begin')
  const { rows } = await other.query(
    `insert into backups (id, type, tenant_id, reason) values (gen_random_uuid(), 'tenant', $1, 'safety')
     returning id`,
    [clinic.id],
  )
  await other.query('lock table backups in share mode')
  const order = { backup_id: id, confirm: true }
  const { body } = await at.call(at.root, 'POST', '/api/admin/backup/restore', order)
  await passMaintenance(at.service, body.job_id)
  await until('the restore to wait', async () => {
    const [row] = await at.sql(
      'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
      [await pidOf(other)],
    )
    return row
  })
  const byOthers = { status: 'failed', error: 'by others', result: null }
  await at.sql(`update backup_jobs set status = 'failed', error = 'by others' where id = $1`, [
    body.job_id,
  ])
  await other.query('commit')
  await until(
    'the restore to end',
    async () => at.service.logged.some(([, , told]) => told === 'backup job failed') || undefined,
  )
  expect(await at.over(body.job_id)).toEqual(byOthers)
  expect(await at.nameOf(nurse.id)).toBe('Since')
  expect(await at.sql('select status from backups where id = $1', [rows[0].id])).toEqual([
    { status: 'queued' },
  ])
})

async function pidOf(client: PgConnection): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

test('a restore of a clinic pauses only the webhooks of that clinic', async () => {
  const neighbour = await at.anotherClinic()
  const [north, south] = [await hearing(clinic), await hearing(neighbour)]
  const maintenance = await somebody()
  await maintenance.query('select pg_advisory_lock($1, $2)', [LOCKS.maintenance, clinic.id])
  await until('the clinic to be in maintenance mode', async () => {
    const { status } = await at.call(clinic.people.admin, 'GET', '/api/users/me')
    return status === 503 || undefined
  })
  await happens(clinic)
  await happens(neighbour)
  const heard = ({ receiver }: typeof north) => receiver.received.length > 0 || undefined
  await until('the neighbour to hear', async () => heard(south))
  expect(heard(north)).toBeUndefined()
  await at.sql('select pg_terminate_backend($1)', [await pidOf(maintenance)])
  await until('the clinic to hear', async () => heard(north))
})

test('a restore of everything pauses the journal consumers, and resumes them afterwards', async () => {
  const logged = at.service.logged.length
  const north = await hearing(clinic)
  const positions = () => at.sql('select consumer, id from journal_consumers order by 1')
  const maintenance = await somebody()
  await maintenance.query('select pg_advisory_lock($1, 0)', [LOCKS.maintenance])
  await until('the service to be in maintenance mode', async () => {
    const { status } = await at.call(at.root, 'GET', '/api/users/me')
    return status === 503 || undefined
  })
  const before = await positions()
  await happens(clinic)
  await expect(at.service.app.db.acrossTenants(async () => 1)).rejects.toMatchObject({
    code: 'restoring',
  })
  await expect(at.service.app.db.inTenant(clinic.id, async () => 1)).rejects.toThrow()
  expect(await at.service.app.db.acrossTenants(async () => 1, 'read')).toBe(1)
  expect(await at.service.app.db.duringMaintenance().acrossTenants(async () => 1)).toBe(1)
  expect(await positions()).toEqual(before)
  await maintenance.query('select pg_advisory_unlock($1, 0)', [LOCKS.maintenance])
  await until('it to be heard', async () => north.receiver.received.length > 0 || undefined)
  // The pause does not count as a failure of the consumer.
  const isTold = ([level, fields]: any) => level === 'warn' && fields.err?.code === 'restoring'
  expect(at.service.logged.slice(logged).filter(isTold)).toEqual([])
})
