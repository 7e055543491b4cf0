/** Scheduled backups: when they are made, kept and deleted, and how a missing backup is reported. */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { watchBackups } from '../../src/features/backups/health.ts'
import {
  deleteOrphans,
  deleteOutdatedBackups,
} from '../../src/features/backups/schedule/retention.ts'
import { orderPlanned } from '../../src/features/backups/schedule/schedule.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { StoreError } from '../../src/features/backups/stores/store.ts'
import { DAY, HOUR, isoAt } from '../../src/lib/clock.ts'
import { parseCron } from '../../src/lib/cron.ts'
import { makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { fileOf, order, readingOf } from './support.ts'

let service: Service
let root: Person
let north: number
let folder: string

beforeAll(async () => {
  service = await openService()
  service.clock.stop()
  root = await superadmin(service)
  north = (await makeClinic(service, root, 'north')).id
  folder = join(service.dataDir, 'backups')
  await mkdir(folder, { recursive: true })
})
beforeEach(() => service.database.sql('delete from backups'))

interface Made {
  reason?: string
  tenant?: number | null
  status?: string
  verified?: boolean
  drilled?: boolean
}

/** Creates a backup's row and files, as if made the given number of days ago. */
async function backup(days: number, made: Made = {}): Promise<string> {
  const { reason = 'request', tenant = null, status = 'completed', verified = true, drilled } = made
  const id = randomUUID()
  const at = isoAt(service.clock, -days * DAY)
  await service.database.sql(
    `insert into backups (id, type, tenant_id, reason, status, size_bytes, sha256, records,
       schema_version, created_at, verified_at, drill_seconds)
     values ($1, $2, $3, $4, $5, 1, 'x', 1, 1, $6, $7, $8)`,
    [
      id,
      tenant === null ? 'full' : 'tenant',
      tenant,
      reason,
      status,
      at,
      verified ? at : null,
      drilled ? 1 : null,
    ],
  )
  await writeFile(fileOf(service, id), 'x')
  await writeFile(join(folder, `${id}.json`), '{}')
  return id
}

const retention = (keep: number) => ({
  db: service.app.db,
  store: folderStore(folder),
  clock: service.clock,
  log: silentLog,
  keep,
})
const prune = (keep: number) => deleteOutdatedBackups(retention(keep), new AbortController().signal)
const left = async () =>
  (await service.database.sql<{ id: string }>('select id from backups')).map(({ id }) => id)
/** Waits until the files of deleted backups no longer exist. */
const filesGone = (id: string) =>
  until('the files to be gone', async () =>
    (await readdir(folder)).some((name) => name.startsWith(id)) ? undefined : true,
  )

describe('backup retention', () => {
  test('keeps the newest full backups and the newest of each tenant, counted separately', async () => {
    const full = [await backup(1), await backup(2, { reason: 'schedule' })]
    const own = [await backup(3, { tenant: north }), await backup(4, { tenant: north })]
    const old = [await backup(5), await backup(6, { tenant: north })]
    await prune(2)
    expect((await left()).sort()).toEqual([...full, ...own].sort())
    for (const id of old) await filesGone(id)
  })

  test('never deletes the newest verified backup, nor the newest backup with a drill', async () => {
    const drilled = await backup(9, { drilled: true })
    const proven = await backup(8)
    await backup(7, { verified: false })
    const newest = await backup(1, { verified: false })
    await prune(1)
    expect((await left()).sort()).toEqual([drilled, proven, newest].sort())
  })

  test('keeps safety backups and failed backups for seven days, and does not count them', async () => {
    const stays = [
      await backup(1),
      await backup(2, { reason: 'safety' }),
      await backup(3),
      await backup(6.9, { reason: 'safety' }),
      await backup(6.9, { status: 'failed' }),
    ]
    await backup(7.1, { reason: 'safety' })
    await backup(7.1, { status: 'failed' })
    await prune(2)
    expect((await left()).sort()).toEqual(stays.sort())
  })

  test('keeps a backup that is being read or has a job', async () => {
    const newest = await backup(1)
    const [read, restored] = [await backup(2), await backup(3)]
    await service.database.sql(
      `insert into backup_jobs (id, backup_id, kind, actor) values ($1, $2, 'create', '{}')`,
      [randomUUID(), restored],
    )
    const held = await readingOf(service).lock(read)
    await prune(1)
    expect((await left()).sort()).toEqual([newest, read, restored].sort())
    await held[Symbol.asyncDispose]()
    await prune(1)
    expect((await left()).sort()).toEqual([newest, restored].sort())
  })

  test('keeps a backup that becomes necessary because newer ones are deleted while retention runs', async () => {
    const newest = await backup(1)
    const older = await backup(2)
    const oldest = await backup(3)
    const store = folderStore(folder)
    const deleteNewestFirst = async (name: string) => {
      if (name === `${oldest}.json`)
        await service.database.sql('delete from backups where id = $1', [newest])
      return store.delete(name)
    }
    const slow = { ...retention(1), store: { ...store, delete: deleteNewestFirst } }
    await deleteOutdatedBackups(slow, new AbortController().signal)
    expect(await left()).toEqual([older])
  })

  test('is recorded in the journal without a user', async () => {
    await backup(1)
    const old = await backup(2)
    await prune(1)
    expect(
      await service.database.sql(
        `select tenant_id, user_id from journal where action = 'backup.deleted' and resource_id = $1`,
        [old],
      ),
    ).toEqual([{ tenant_id: root.tenant_id, user_id: null }])
  })

  test('deletes partial files of crashes, but no file that the store still lists', async () => {
    const known = await backup(3)
    const ids = { orphan: randomUUID(), fresh: randomUUID(), foreign: randomUUID() }
    const names = Object.values(ids).map((id) => `${id}.tar.zst.age`)
    const parts = [`${randomUUID()}.tar.zst.age.part`, 'notes.txt']
    for (const name of [...names, ...parts, `${ids.foreign}.json`])
      await writeFile(join(folder, name), 'x')
    const old = new Date(service.clock.now() - 3 * DAY)
    for (const name of await readdir(folder))
      if (!name.startsWith(ids.fresh)) await utimes(join(folder, name), old, old)
    await deleteOrphans(retention(1))
    const there = await readdir(folder)
    expect(there).toEqual(expect.arrayContaining([`${known}.tar.zst.age`, 'notes.txt']))
    expect(there).toContain(`${ids.fresh}.tar.zst.age`)
    expect(there).toContain(`${ids.foreign}.tar.zst.age`)
    expect(there).not.toContain(`${ids.orphan}.tar.zst.age`)
    expect(there).not.toContain(parts[0])
  })
})

test('retention runs after each successful backup, and at no other time', async () => {
  const working = await openService({ background: ['backups', 'jobs'], config: { BACKUP_KEEP: 1 } })
  const person = await superadmin(working)
  const orders: string[] = []
  for (let n = 0; n < 2; n += 1) {
    const { backup_id } = await order(working, person)
    orders.push(backup_id)
    await until('one backup to be left', async () => {
      const rows = await working.database.sql<{ id: string; status: string }>(
        'select id, status from backups',
      )
      return rows.length === 1 && rows[0]?.id === backup_id && rows[0].status === 'completed'
        ? rows
        : undefined
    })
  }
  await until('the files to be gone', async () =>
    (await readdir(join(working.dataDir, 'backups'))).some((name) =>
      name.startsWith(String(orders[0])),
    )
      ? undefined
      : true,
  )
})

test('a scheduled backup is a full one without a user, and is skipped while another backup runs', async () => {
  let woken = 0
  for (let n = 0; n < 2; n += 1) await orderPlanned(service.app.db, () => (woken += 1))
  expect(
    await service.database.sql(
      `select b.type, b.reason, b.status, b.created_by, j.kind, j.actor ->> 'user_id' as user_id
       from backups b join backup_jobs j on j.backup_id = b.id`,
    ),
  ).toEqual([
    {
      type: 'full',
      reason: 'schedule',
      status: 'queued',
      created_by: null,
      kind: 'create',
      user_id: null,
    },
  ])
  expect(woken).toBe(1)
})

test('the job queue stores the backup schedule, and deletes it when the variable is removed', async () => {
  const planned = () =>
    service.database.sql("select cron from pgboss.schedule where name = 'backups.planned'")
  const config = { BACKUP_SCHEDULE: parseCron('30 2 * * *') }
  const first = await openService({
    background: ['backups', 'jobs'],
    database: service.database,
    config,
  })
  expect(await planned()).toEqual([{ cron: '30 2 * * *' }])
  await first.close()
  await openService({ background: ['backups', 'jobs'], database: service.database })
  expect(await planned()).toEqual([])
})

describe('the health of backups', () => {
  const watched = (cron?: string, config: object = {}, where?: string) => ({
    db: service.app.db,
    clock: service.clock,
    log: silentLog,
    store: { check: async () => undefined },
    folder: where,
    config: {
      NODE_ENV: 'development',
      DATABASE_URL: undefined,
      DATA_DIR: service.dataDir,
      BACKUP_SCHEDULE: cron === undefined ? undefined : parseCron(cron),
      ...config,
    },
  })

  /** Returns the health status after a check. */
  async function state(cron?: string, config: object = {}, where?: string) {
    const watch = watchBackups(watched(cron, config, where))
    await watch.upkeep.run()
    return watch.check().state
  }

  test('requires no backup without a schedule, except in production', async () => {
    expect(await state()).toBe('ok')
    expect(await state(undefined, { NODE_ENV: 'production' })).toBe('degraded')
  })

  test('is degraded until a backup is verified, and when the newest is older than two intervals', async () => {
    expect(await state('0 2 * * *')).toBe('degraded')
    await backup(1.9, { tenant: north })
    await backup(1.9, { verified: false })
    expect(await state('0 2 * * *')).toBe('degraded')
    await backup(1.9)
    expect(await state('0 2 * * *')).toBe('ok')
    service.clock.advance(3 * HOUR)
    expect(await state('0 2 * * *')).toBe('degraded')
  })

  test('stays good on weekends if the schedule pauses on weekends', async () => {
    const friday = Date.parse('2026-11-20T02:05:00Z')
    const now = service.clock.now()
    await backup((now - friday) / DAY)
    const until = (iso: string) => service.clock.advance(Date.parse(iso) - service.clock.now())
    until('2026-11-24T02:04:00Z')
    expect(await state('0 2 * * 1-5')).toBe('ok')
    until('2026-11-24T02:06:00Z')
    expect(await state('0 2 * * 1-5')).toBe('degraded')
    service.clock.advance(now - service.clock.now())
  })

  test('is degraded if all backups are on the same disk as the embedded database', async () => {
    await backup(0.1)
    expect(await state('0 2 * * *', {}, folder)).toBe('degraded')
    expect(await state('0 2 * * *', {}, '/proc')).toBe('ok')
    expect(await state('0 2 * * *', {}, join(folder, 'none'))).toBe('ok')
    expect(await state('0 2 * * *', { DATABASE_URL: 'postgres://elsewhere/x' }, folder)).toBe('ok')
  })

  test('is degraded until the backup store has responded for the first time, with any schedule', async () => {
    let asked = 0
    const check = async () => {
      asked += 1
      if (asked < 3) throw new StoreError('the store refuses')
    }
    const watch = watchBackups({ ...watched(), store: { check } })
    for (const states of ['degraded', 'degraded', 'ok', 'ok']) {
      await watch.upkeep.run()
      expect(watch.check().state).toBe(states)
    }
    expect(asked).toBe(3)
  })

  test('is listed in the health report', async () => {
    const { token } = await superadmin(service)
    const { body } = await service.call('GET', '/api/admin/health', { token })
    expect(body.checks.backups).toBe('ok')
  })
})
