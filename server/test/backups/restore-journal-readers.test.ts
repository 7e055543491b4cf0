/** Preparing a restore does not block journal readers, which wait for the oldest running transaction. */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import type { Store } from '../../src/features/backups/stores/store.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { ended, fatten } from './support.ts'
import { workOn } from './worker-scene.ts'

let service: Service
let root: Person
/** A backup whose first half is the journal, and whose second half is users. */
let backup: string

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  const north = await makeClinic(service, root, 'north')
  const department = { token: north.people.admin.token, body: { name: 'Cardiology' } }
  await service.call('POST', '/api/admin/departments', department)
  await fatten(service.database, north.id)
  await fattenUsers(north)
  const { create } = service.app.features.backups.commands
  backup = (await create(null, () => undefined)).backup_id
})

/** Adds incompressible rows to users. */
const fattenUsers = ({ id }: Clinic) =>
  service.database.sql(
    `insert into users (tenant_id, email, full_name, role, password_hash)
     select $1, row_no || '@noise.example', 'Noise', 'nurse', string_agg(
       encode(sha512((row_no || ' ' || part)::text::bytea), 'base64'), '')
     from generate_series(1, 2000) row_no, generate_series(1, 16) part group by row_no`,
    [id],
  )

/** Returns a store that pauses after the given share of a file, until it is released. */
function halting(share: number) {
  const folder = folderStore(`${service.dataDir}/backups`)
  const { promise: halted, resolve: halt } = Promise.withResolvers<void>()
  const { promise: free, resolve: release } = Promise.withResolvers<void>()
  const store: Store = {
    ...folder,
    async *read(name) {
      const size = await folder.size(name)
      let bytes = 0
      for await (const chunk of folder.read(name)) {
        bytes += chunk.length
        if (bytes > share * size) {
          halt()
          await free
        }
        yield chunk
      }
    },
  }
  return { store, halted, release }
}

/** Requests a dry run, and starts a worker that uses this store. */
async function rehearse(store: Store): Promise<string> {
  const { body } = await service.call('POST', '/api/admin/backup/restore', {
    token: root.token,
    body: { backup_id: backup, dry_run: true },
  })
  await workOn(service, store)
  return body.job_id
}

const backends = (condition: string, values: unknown[] = []) =>
  service.database.sql<{ state: string; backend_xid: string | null }>(
    `select state, backend_xid from pg_stat_activity
     where datname = current_database() and ${condition}`,
    values,
  )

/** Expects that every row reached the staging tables exactly once. */
async function expectNoDifference(job: string) {
  const { status, error, result } = await ended(service, root, job)
  expect({ status, error }).toEqual({ status: 'completed', error: null })
  const none = { added: 0, changed: 0, removed: 0 }
  const names = Object.keys(result.tables)
  expect(names).toContain('users')
  expect(result.tables).toEqual(Object.fromEntries(names.map((name) => [name, none])))
}

/** Requests a dry run. Returns when the store has paused after some rows of the table. */
async function stallBehind(table: string, share: number) {
  const { store, halted, release } = halting(share)
  const job = await rehearse(store)
  onTestFinished(() => release())
  await halted
  await until('the rows that have come to be on the stage, by no transaction', async () => {
    const [backend] = await backends(`query like 'copy "stage_${table}"%'`)
    return (backend?.state === 'idle' && backend.backend_xid === null) || undefined
  })
  return { job, release }
}

test.each([
  // The rows of the last table before the journal. The journal is not restored.
  ['that are not restored', 'departments', 0.2],
  ['that are restored', 'users', 0.8],
])(
  'a restore keeps no transaction open while the store stalls between rows %s',
  async (_, table, share) => {
    const { job, release } = await stallBehind(table, share)
    release()
    await expectNoDifference(job)
  },
)

test('a dry run counts rows without using a transaction ID', async () => {
  const { job, release } = await stallBehind('users', 0.8)
  const somebody = ownerClient(service.database.address)
  await somebody.connect()
  onTestFinished(() => somebody.end())
  await somebody.query('begin; lock table preferences in access exclusive mode')
  const { rows } = await somebody.query('select pg_backend_pid() as pid')
  release()
  const counting = await until('the count to wait', async () => {
    const [backend] = await backends(
      `query like 'select count(*)%' and $1 = any(pg_blocking_pids(pid))`,
      [rows[0].pid],
    )
    return backend
  })
  expect(counting).toEqual({ state: 'active', backend_xid: null })
  await somebody.query('rollback')
  await expectNoDifference(job)
})
