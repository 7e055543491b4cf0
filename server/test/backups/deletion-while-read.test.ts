/** No node deletes a backup that is being read. */
import { once } from 'node:events'
import { truncate } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { backupsService } from '../../src/features/backups/backups.service.ts'
import { lockForDeletion } from '../../src/features/backups/backups.store.ts'
import type { NamedDrillDeps } from '../../src/features/backups/drill/scheduled-drill.ts'
import { backupCommands } from '../../src/features/backups/operator/commands.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import type { OpenStore } from '../../src/features/backups/stores/store.ts'
import { checkNext } from '../../src/features/backups/verify/verify-files.ts'
import { DAY } from '../../src/lib/clock.ts'
import type { Admin } from '../../src/platform/access/index.ts'
import { LOCKS, ownerClient } from '../../src/platform/db/index.ts'
import { type Person, superadmin } from '../support/clinics.ts'
import { migratedDatabase, OF_THIS_DATABASE } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { backupKeys, fileOf, make, readingOf, unusedBy } from './support.ts'

/** The backup is larger than all socket buffers, so that a reader who stops also stops the node. */
const LARGE = 64 * 1024 ** 2

let service: Service
/** Another node with the same backup folder. */
let other: Service
let root: Person
let address: string

beforeAll(async () => {
  const database = await migratedDatabase()
  service = await openService({ background: ['backups', 'jobs'], database })
  root = await superadmin(service)
  const BACKUP_DIR = join(service.dataDir, 'backups')
  other = await openService({ database, config: { BACKUP_DIR } })
  address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
})

const remove = (id: string, node = other) =>
  node.call('DELETE', `/api/admin/backup/${id}`, { token: root.token })

/** Begins to download the backup, and stops reading after the start. */
async function beginReading(id: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${root.token}` }
  const asked = get(`${address}/api/admin/backup/download/${id}`, { headers })
  onTestFinished(() => void asked.destroy())
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(200)
  // The connection may break before the rest of the response arrives.
  answer.on('error', () => undefined)
  return answer
}

test.each([
  ['has received the whole file', (answer: IncomingMessage) => void answer.resume()],
  ['has disconnected', (answer: IncomingMessage) => void answer.destroy()],
])('a backup cannot be deleted during its download until the reader %s', async (_, end) => {
  const id = await make(service, root)
  await truncate(fileOf(service, id), LARGE)
  const answer = await beginReading(id)
  for (const node of [service, other])
    expect(await remove(id, node)).toMatchObject({ status: 409, body: { code: 'backup_in_use' } })
  end(answer)
  await until('nobody to read it', async () => (await remove(id)).status === 200 || undefined)
})

/** Returns a store for both nodes. During each read, the other node tries to delete the backup. */
function watched(id: string) {
  const answers: number[] = []
  const files = folderStore(join(service.dataDir, 'backups'))
  const store: OpenStore = {
    ...files,
    async *read(name, range) {
      answers.push((await remove(id)).status)
      yield* files.read(name, range)
    },
  }
  return { store, answers }
}

const inTwoDays = { now: () => Date.now() + 2 * DAY }
const commandsOf = (deps: NamedDrillDeps) =>
  backupCommands({
    ...deps,
    startWorker: () => ({
      wake: () => undefined,
      idle: async () => undefined,
      stop: async () => undefined,
    }),
  })
const never = new AbortController().signal

test.each<[string, (deps: NamedDrillDeps & { store: OpenStore }, id: string) => Promise<unknown>]>([
  ['verified by a command', (deps, id) => commandsOf(deps).verify(id, () => undefined)],
  ['restored in a drill', (deps, id) => commandsOf(deps).drill(id, () => undefined)],
  ['verified again on schedule', (deps) => checkNext({ ...deps, clock: inTwoDays }, never)],
])('a backup that is %s cannot be deleted until the read ends', async (_, read) => {
  await service.database.sql('delete from backups')
  const id = await make(service, root)
  const { store, answers } = watched(id)
  await read(
    {
      db: service.app.db,
      log: silentLog,
      dataDir: service.dataDir,
      backupKeys: await backupKeys(),
      verify: async () => undefined,
      reading: readingOf(service),
      store,
    },
    id,
  )
  expect(new Set(answers)).toEqual(new Set([409]))
  expect((await remove(id)).status).toBe(200)
})

test.each(['queued', 'running'])(
  'a backup whose restore is %s cannot be deleted until the restore ends',
  async (status) => {
    const id = await make(service, root)
    // Holds the job's lock, so that no process takes the job or treats it as abandoned.
    const holder = ownerClient(service.database.address)
    await holder.connect()
    onTestFinished(() => holder.end())
    await holder.query('begin')
    const { rows } = await holder.query<{ number: number }>(
      `insert into backup_jobs (id, backup_id, kind, status, started_at, actor)
     values (gen_random_uuid(), $1, 'restore', $2, now(), '{}') returning number`,
      [id, status],
    )
    await holder.query('select pg_advisory_lock($1, $2)', [LOCKS.longJobs, rows[0]?.number])
    await holder.query('commit')
    for (const node of [service, other])
      expect(await remove(id, node)).toMatchObject({ status: 409, body: { code: 'backup_in_use' } })
    await holder.query(`update backup_jobs set status = 'failed' where backup_id = $1`, [id])
    expect((await remove(id)).status).toBe(200)
  },
)

test('a backup that is being deleted cannot be read, and stays if the deletion fails', async () => {
  const id = await make(service, root)
  const reading = readingOf(service)
  const path = `/api/admin/backup/download/${id}`
  const download = () => service.call('GET', path, { token: root.token })
  await service.app.db.acrossTenants(async (tx) => {
    expect(await lockForDeletion(tx, id)).toBe('free')
    await expect(reading.lock(id)).rejects.toMatchObject({ code: 'busy' })
    expect(await download()).toMatchObject({ status: 503, body: { code: 'busy' } })
  })
  expect((await download()).status).toBe(200)
})

test('a download fails if its backup is deleted between the response headers and the first byte', async () => {
  const id = await make(service, root)
  const caller: Admin = { ...root, role: 'superadmin' } as never
  const { app, dataDir } = service
  const backups = backupsService({
    ...unusedBy(service),
    db: app.db,
    store: folderStore(join(dataDir, 'backups')),
    log: silentLog,
    wake: () => undefined,
    reading: {
      async lock() {
        await service.database.sql('delete from backups where id = $1', [id])
        return { [Symbol.asyncDispose]: async () => undefined }
      },
    },
  })
  const { open } = await backups.download(caller, id, undefined)
  await expect(open()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'not_found' })
})

test('read-lock connections stay open only while a backup is read, and a lost connection is replaced', async () => {
  const reading = readingOf(service)
  const ids = ['0badcafe-0000-4000-8000-000000000000', 'f00dcafe-0000-4000-8000-000000000000']
  const holders = () =>
    service.database.sql<{ pid: number; locks: number }>(
      `select pid, count(*)::int as locks from pg_locks
       where locktype = 'advisory' and classid = ${LOCKS.longReads}
         and ${OF_THIS_DATABASE}
       group by pid`,
    )
  const first = await reading.lock(ids[0] as string)
  const twice = [await reading.lock(ids[1] as string), await reading.lock(ids[1] as string)]
  expect(await holders()).toMatchObject([{ locks: 2 }])
  await twice[0]?.[Symbol.asyncDispose]()
  expect(await holders()).toMatchObject([{ locks: 2 }])
  await twice[1]?.[Symbol.asyncDispose]()
  const [holder] = await holders()
  expect(holder).toMatchObject({ locks: 1 })
  await service.database.sql('select pg_terminate_backend($1)', [holder?.pid])
  await until('the connection to be gone', async () => (await holders()).length === 0 || undefined)
  const again = await until('another to be held', () =>
    reading.lock(ids[0] as string).catch(() => undefined),
  )
  expect(await holders()).toMatchObject([{ locks: 1 }])
  await first[Symbol.asyncDispose]()
  await again[Symbol.asyncDispose]()
  await until('no connection to be left', async () => (await holders()).length === 0 || undefined)
})
