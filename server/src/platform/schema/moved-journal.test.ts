/** Tests a journal that was restored from the dump of another cluster. Its consumers continue where they stopped. */
import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { unheard } from '../../../test/sessions/scopes.ts'
import { eventually } from '../../../test/sessions/users.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { proxyTo } from '../../../test/support/database-proxy.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { systemTime } from '../../lib/time.ts'
import { type DatabaseAddress, ownerClient } from '../db/connection.ts'
import { openScopes, type Scopes } from '../db/scope.ts'
import { append, consume, SYSTEM } from '../journal/index.ts'
import { migrate, readMigrations } from './migrate.ts'
import { dumpSchema } from './schema-dump.ts'

let database: TestDatabase
let db: Scopes

beforeEach(async () => {
  database = await migratedDatabase()
  await database.sql('delete from journal_consumers')
  db = openScopes(database.address, {
    clock: systemTime,
    size: 4,
    changes: unheard,
    log: silentLog,
  })
  onTestFinished(async () => {
    await db.close()
    await database.close()
  })
})

const commit = (...words: string[]) =>
  db.acrossTenants(async (tx) => {
    for (const word of words)
      await append(tx, SYSTEM, {
        action: 'tenant.updated',
        tenant_id: null,
        resource_type: 'word',
        resource_id: word,
      })
  })

/** Inserts entries with the given transaction ids, as a dump does. */
const load = (entries: [id: number, xid: number, word: string][]) =>
  Promise.all(
    entries.map(([id, xid, word]) =>
      database.sql(
        `insert into journal (id, xid, action, resource_type, resource_id)
         values ($1, $2::text::xid8, 'tenant.updated', 'word', $3)`,
        [id, String(xid), word],
      ),
    ),
  )
const place = (consumer: string, xid: number, id: number) =>
  database.sql(
    `insert into journal_consumers (consumer, xid, id) values ($1, $2::text::xid8, $3)`,
    [consumer, String(xid), id],
  )

/** Waits until no transaction of another test file delays the reading of entries. The files share the server. */
const settled = () =>
  eventually(
    () =>
      database.sql('select 1 from journal where xid >= pg_snapshot_xmin(pg_current_snapshot())'),
    (held) => held.length === 0,
    10_000,
  )

/** Reads the unread entries of a consumer, up to `count`. Returns their words. */
async function read(name: string, count = 1_000): Promise<string[]> {
  const words: string[] = []
  await settled()
  const batch = Math.min(count, 2)
  const handle = async (_: unknown, entries: { resource_id: string | null }[]) =>
    void words.push(...entries.map(({ resource_id }) => String(resource_id)))
  while (words.length < count && (await consume(db, { name, batch, handle })) !== 0);
  return words
}

/** A number of transactions that no test server reaches. */
const AHEAD = 10 ** 12

/** Changes the database as if it was restored from a cluster with a higher transaction counter. */
async function move(): Promise<void> {
  const client = ownerClient(database.address)
  await client.connect()
  await client.query(`begin; set local session_replication_role = replica;
    update journal set xid = (xid::text::bigint + ${AHEAD})::text::xid8;
    update journal_consumers set xid = (xid::text::bigint + ${AHEAD})::text::xid8 where xid > '0';
    commit`)
  await client.end()
}

/** Runs a startup. Returns its log lines about the journal. */
async function start(address: DatabaseAddress = database.address): Promise<string[]> {
  const lines: string[] = []
  const say = (_: unknown, line?: string) => void lines.push(line ?? '')
  await migrate(address, { ...silentLog, warn: say, info: say } as typeof silentLog)
  return lines
}

/** Reads the file numbers of the journal's tables, which change when PostgreSQL rewrites a table. */
const files = () =>
  database.sql(`select relname, pg_relation_filenode(oid) from pg_class
    where relname like 'journal%' and relkind = 'r' order by 1`)

describe('renumbering the journal after a move to a database cluster with a lower transaction counter', () => {
  test('lets each consumer read the unread and the new entries once', async () => {
    await commit('a', 'b')
    await commit('c')
    await commit('d', 'e')
    expect(await read('early', 1)).toEqual(['a'])
    expect(await read('late', 4)).toEqual(['a', 'b', 'c', 'd'])
    expect(await read('done')).toEqual(['a', 'b', 'c', 'd', 'e'])
    await move()
    expect(await start()).toEqual([
      expect.stringContaining('moved from another cluster'),
      expect.stringContaining('continue where they stopped'),
    ])
    await commit('new')
    expect(await read('early')).toEqual(['b', 'c', 'd', 'e', 'new'])
    expect(await read('late')).toEqual(['e', 'new'])
    expect(await read('done')).toEqual(['new'])
    expect(await read('never read')).toEqual(['a', 'b', 'c', 'd', 'e', 'new'])
    expect(await read('early')).toEqual([])
  })

  test('is necessary, because otherwise old entries are invisible and new entries are skipped', async () => {
    await commit('a', 'b')
    await read('early', 1)
    await move()
    await commit('new')
    const handle = async () => undefined
    await expect(consume(db, { name: 'early', handle })).rejects.toThrow('restart the service')
    const readNew = () => consume(db, { name: 'never read', batch: 1, handle })
    await eventually(readNew, (count) => count === 1)
    expect(await consume(db, { name: 'never read', handle })).toBe(0)
  })

  test('keeps track of read entries even if their IDs are not in transaction order', async () => {
    await load([
      [1, AHEAD + 40, 'third'],
      [2, AHEAD + 20, 'first'],
      [3, AHEAD + 50, 'last'],
      [4, AHEAD + 40, 'fourth'],
      [5, AHEAD + 30, 'second'],
    ])
    await place('at the first', AHEAD + 20, 2)
    await place('at the second', AHEAD + 30, 5)
    await place('within a transaction', AHEAD + 40, 1)
    await place('at the end', AHEAD + 50, 3)
    await start()
    expect((await read('at the first')).sort()).toEqual(['fourth', 'last', 'second', 'third'])
    expect((await read('at the second')).sort()).toEqual(['fourth', 'last', 'third'])
    expect((await read('within a transaction')).sort()).toEqual(['fourth', 'last'])
    expect(await read('at the end')).toEqual([])
  })

  test('lets a consumer that had read nothing read all entries', async () => {
    await load([[1, AHEAD, 'a']])
    await place('new', 0, 0)
    await start()
    expect(await read('new')).toEqual(['a'])
  })

  test('lets the first consumer read all entries if there was no consumer before', async () => {
    await load([[1, AHEAD, 'a']])
    await start()
    await commit('b')
    expect(await read('first')).toEqual(['a', 'b'])
  })

  test('hides no new entries if consumers have positions but the journal is empty', async () => {
    await place('consumer', AHEAD, 7)
    await start()
    await commit('a')
    expect(await read('consumer')).toEqual(['a'])
  })

  test('happens even if only one entry has a transaction ID of the former cluster', async () => {
    await commit('a')
    await load([[100, AHEAD, 'b']])
    await start()
    expect(await read('consumer')).toEqual(['a', 'b'])
  })

  test('happens only once per move', async () => {
    await commit('a', 'b', 'c')
    await read('consumer', 1)
    await move()
    expect(await start()).toHaveLength(2)
    const before = [await files(), await database.sql('select * from journal_consumers')]
    expect(await start()).toEqual([])
    expect([await files(), await database.sql('select * from journal_consumers')]).toEqual(before)
    expect(await read('consumer', 1)).toEqual(['b'])
    await commit('d')
    await move()
    expect(await start()).toHaveLength(2)
    expect(await read('consumer')).toEqual(['c', 'd'])
  })

  test('happens before the migrations, which may move a consumer to the end of the journal', async () => {
    await load([[1, AHEAD, 'old']])
    const released = await readMigrations()
    const version = (released.at(-1)?.version ?? 0) + 1
    const sql = `insert into journal_consumers (consumer, xid, id)
      values ('consumer', pg_snapshot_xmin(pg_current_snapshot()), 0)`
    const next = { version, name: `000${version}_next.sql`, sql, checksum: 'x' }
    await migrate(database.address, silentLog, [...released, next])
    await commit('new')
    expect(await read('consumer')).toEqual(['new'])
  })

  test('happens once if several nodes start together', async () => {
    await commit('a', 'b')
    await read('consumer', 1)
    await move()
    const lines = await Promise.all([start(), start(), start(), start()])
    expect(lines.flat()).toHaveLength(2)
    expect(await read('consumer')).toEqual(['b'])
  })

  test('does not change the content, the write protection or the table definition of entries', async () => {
    const schema = async () => {
      const client = ownerClient(database.address)
      await client.connect()
      return dumpSchema(client).finally(() => client.end())
    }
    const entries = () =>
      database.sql(`select to_jsonb(journal) - 'xid' as entry from journal order by id`)
    const names = `select indexrelid::regclass::text from pg_index order by 1`
    await commit('a', 'b')
    const before = [await schema(), await database.sql(names), await entries()]
    await move()
    await start()
    expect([await schema(), await database.sql(names), await entries()]).toEqual(before)
    for (const change of [
      `update journal set xid = '1'`,
      'delete from journal',
      'truncate journal',
    ])
      await expect(database.sql(change), change).rejects.toThrow('append-only')
  })

  test('works for a database owner that is not a superuser and cannot see the rows', async () => {
    await commit('a', 'b')
    await move()
    const { address } = await ownedByAnother()
    expect(await start(address)).toHaveLength(2)
    expect(await read('consumer')).toEqual(['a', 'b'])
  })
})

describe('a journal that needs no renumbering', () => {
  test('is not changed if the database was not moved', async () => {
    await commit('a', 'b')
    await read('consumer', 1)
    const before = [await files(), await database.sql('select id, xid from journal order by id')]
    expect(await start()).toEqual([])
    expect([await files(), await database.sql('select id, xid from journal order by id')]).toEqual(
      before,
    )
    expect(await read('consumer')).toEqual(['b'])
  })

  test('is not changed after a move to a cluster with a higher transaction counter', async () => {
    await load([
      [1, 20, 'b'],
      [2, 10, 'a'],
      [3, 30, 'c'],
    ])
    await place('consumer', 10, 2)
    const before = await files()
    expect(await start()).toEqual([])
    expect(await files()).toEqual(before)
    await commit('new')
    expect(await read('consumer')).toEqual(['b', 'c', 'new'])
    expect(await read('never read')).toEqual(['a', 'b', 'c', 'new'])
  })

  test('is not changed if it is empty', async () => {
    expect(await start()).toEqual([])
  })
})

/** Makes an ordinary role the owner of the database, as on a hosted server. */
async function ownedByAnother(): Promise<{ address: DatabaseAddress }> {
  const role = `wk_owner_${randomBytes(4).toString('hex')}`
  await database.sql(`create role ${role} login noinherit nosuperuser password 'weak'`)
  // Sets the owner immediately. Otherwise other services on the server would report a role member that owns no
  // database.
  onTestFinished(async () => {
    await database.sql(
      `reassign owned by ${role} to current_user; drop owned by ${role}; drop role ${role}`,
    )
  })
  await database.sql(`grant wardkeep_app, wardkeep_platform to ${role};
    do $$ declare part regclass; begin
      execute format('alter database %I owner to ${role}', current_database());
      for part in select oid from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
      loop execute format('alter table %s owner to ${role}', part); end loop;
    end $$`)
  const url = new URL((await proxyTo(database)).url)
  url.username = role
  url.password = 'weak'
  return { address: { url: url.href } }
}
