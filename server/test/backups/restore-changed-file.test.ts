/**
 * A file changes while a restore reads it, or afterwards. The restore uses only contents that it has read completely.
 */
import { open, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { ownerClient } from '../../src/platform/db/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { type DatabaseProxy, proxyTo } from '../support/database-proxy.ts'
import { until } from '../support/until.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { fileOf, make, passMaintenance } from './support.ts'

let at: Restoring
let proxy: DatabaseProxy
let root: Restoring['root']
/** Two backups: the first with the original names of the nurses, and the second after all were renamed to `Second`. */
let first: { id: string; bytes: Buffer }
let second: { id: string; bytes: Buffer }

// Adds more rows to the blocked table than a restore reads in advance.
beforeAll(async () => {
  const database = await migratedDatabase()
  proxy = await proxyTo(database)
  at = await openRestoring({ database: { ...database, address: { url: proxy.url } } })
  root = at.root
  for (const clinic of [at.north, at.south])
    await at.sql(
      `insert into preferences (user_id, tenant_id, theme, settings)
       select id, tenant_id, 'light', jsonb_build_object('noise', (select string_agg(
         encode(sha512((users.id || ' ' || part)::text::bytea), 'base64'), '')
         from generate_series(1, 5000) part)) from users where tenant_id = $1`,
      [clinic.id],
    )
  first = await made()
  await call('Second')
  second = await made()
})

async function made() {
  const id = await make(at.service, at.root)
  return { id, bytes: await readFile(fileOf(at.service, id)) }
}

const call = (name: string) =>
  at.sql(`update users set full_name = $1 where role = 'nurse'`, [name])
const names = async () =>
  (await at.sql(`select full_name from users where role = 'nurse' order by id`)).map(
    ({ full_name }) => full_name,
  )

beforeEach(async () => {
  await call('Since')
  await rm(file())
  await writeFile(file(), first.bytes)
  root = await at.again(root)
})

const file = () => fileOf(at.service, first.id)

const WANTED = [
  ['everything', () => ({}), ['nurse of north', 'nurse of south']],
  ['one clinic', () => ({ tenant_id: at.north.id }), ['nurse of north', 'Since']],
] as const

async function order(wanted: object): Promise<string> {
  const body = { backup_id: first.id, confirm: true, ...wanted }
  const answer = await at.call(root, 'POST', '/api/admin/backup/restore', body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.job_id
}

/** The ways in which the file changes. */
const CHANGES: Record<string, () => Promise<void>> = {
  'is truncated': () => truncate(file(), Math.floor(first.bytes.length / 2)),
  async 'has a changed byte'() {
    const handle = await open(file(), 'r+')
    const place = Math.floor(first.bytes.length * 0.75)
    await handle.write(Buffer.from([(first.bytes[place] ?? 0) ^ 1]), 0, 1, place)
    await handle.close()
  },
  'is overwritten with another backup': () => writeFile(file(), second.bytes),
  async 'is replaced by another backup'() {
    const aside = `${file()}.aside`
    await writeFile(aside, second.bytes)
    await rename(aside, file())
  },
}

describe.each(WANTED)('a restore of %s', (_name, wanted, then) => {
  test.each(Object.entries(CHANGES))(
    'fails if the file %s before the read',
    async (_change, change) => {
      await change()
      const job = await at.over(await order(wanted()))
      expect(job).toMatchObject({ status: 'failed', result: null })
      expect(job.error).toMatch(/^The backup file is not usable: .+[.]$/)
      expect(await names()).toEqual(['Since', 'Since'])
    },
  )

  test.each(Object.entries(CHANGES))(
    'never mixes two files if the file %s during the read',
    async (what, change) => {
      const held = proxy.holdAnswerOf('copy "stage_preferences"')
      const job = await order(wanted())
      await held.asked
      expect((await stat(file())).size).toBe(first.bytes.length)
      await change()
      held.release()
      const done = await at.over(job)
      // A process with an open file keeps reading the old file after another file has replaced it.
      if (what === 'is replaced by another backup') {
        expect(done).toMatchObject({ status: 'completed' })
        expect(await names()).toEqual(then)
      } else {
        expect(done).toMatchObject({ status: 'failed', result: null })
        expect(done.error).toMatch(/^The backup file is not usable: .+[.]$/)
        expect(await names()).toEqual(['Since', 'Since'])
      }
    },
  )

  test('uses the contents that were read, even if the file is replaced or deleted afterwards', async () => {
    const other = ownerClient(at.service.database.address)
    await other.connect()
    onTestFinished(() => other.end())
    // Locks the row of the safety backup.
    await other.query('begin; lock table backups in share mode')
    const { rows } = await other.query('select pg_backend_pid() as pid')
    const job = await order(wanted())
    await passMaintenance(at.service, job)
    await until('the restore to wait', async () => {
      const [row] = await at.sql(
        `select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))
           and query like 'update "backups" set "status" = $1, "verified_at" = $2 %'`,
        [rows[0].pid],
      )
      return row
    })
    await writeFile(file(), second.bytes)
    if (then[1] === 'Since') await rm(file())
    await other.query('rollback')
    expect(await at.over(job)).toMatchObject({ status: 'completed' })
    expect(await names()).toEqual(then)
    await writeFile(file(), first.bytes)
  })
})
