/** Tests that consumers read the journal in commit order, without gaps or repetitions. */
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { gate, scopesOf } from '../../../test/sessions/scopes.ts'
import { eventually } from '../../../test/sessions/users.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import type { Scopes, TenantTx } from '../db/index.ts'
import { append, SYSTEM } from './append.ts'
import { type ConsumerOptions, consume, type JournalEntry } from './index.ts'

let database: TestDatabase
let db: Scopes
let made = 0
let name: string

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
})

beforeEach(async () => {
  // Creates a new consumer for each test. It has already read all earlier entries.
  made += 1
  name = `consumer-${made}`
  await heldBack(0)
  while ((await consume(db, { name, handle: async () => undefined })) !== 0);
})

/**
 * Waits until an older transaction blocks exactly `count` committed entries. All databases of the server share their
 * transaction ids, so test files that run in parallel may block entries for a moment too.
 */
async function heldBack(count: number): Promise<void> {
  const rows = () =>
    database.sql('select 1 from journal where xid >= pg_snapshot_xmin(pg_current_snapshot())')
  await eventually(rows, (held) => held.length === count, 10_000)
}

const write = async (tx: TenantTx, word: string) => {
  await append(tx, SYSTEM, {
    action: 'tenant.updated',
    tenant_id: null,
    resource_type: 'word',
    resource_id: word,
  })
  // Until now, the entry has only been sent. The response to a later statement confirms that it was written.
  await sql`select 1`.execute(tx.db)
}
const commit = (...words: string[]) =>
  db.acrossTenants(async (tx) => {
    for (const word of words) await write(tx, word)
  })
const wordsOf = (entries: JournalEntry[]) => entries.map(({ resource_id }) => resource_id)

/** Reads one batch. Returns the words of its entries, or null if another process is reading for this consumer. */
async function read(options: Partial<ConsumerOptions> = {}) {
  let seen: (string | null)[] = []
  const count = await consume(db, {
    name,
    handle: async (_tx, entries) => {
      seen = wordsOf(entries)
    },
    ...options,
  })
  return count === null ? null : seen
}

/** Opens a transaction that has written an entry with `word` and not yet committed. */
async function slow(word: string) {
  const written = gate()
  const end = gate()
  const outcome = db.acrossTenants(async (tx) => {
    await write(tx, word)
    written.open()
    await end.pass
  })
  await written.pass
  return async () => {
    end.open()
    await outcome
  }
}

describe('a journal consumer', () => {
  test('reads committed entries once and in order', async () => {
    await commit('a', 'b')
    await commit('c')
    await heldBack(0)
    expect(await read()).toEqual(['a', 'b', 'c'])
    expect(await read()).toEqual([])
  })

  test('continues from its own position, independent of other consumers', async () => {
    await commit('a')
    await heldBack(0)
    expect(await read()).toEqual(['a'])
    await commit('b')
    await heldBack(0)
    const other = await read({ name: `other-of-${name}`, batch: 1 })
    expect(other).toHaveLength(1)
    expect(await read()).toEqual(['b'])
  })

  test('reads at most one batch, even if the batch ends within a transaction', async () => {
    await commit('a', 'b', 'c', 'd', 'e')
    await heldBack(0)
    expect(await read({ batch: 2 })).toEqual(['a', 'b'])
    expect(await read({ batch: 2 })).toEqual(['c', 'd'])
    expect(await read({ batch: 2 })).toEqual(['e'])
  })

  test('reads the entries exactly as they were written', async () => {
    await db.acrossTenants((tx) =>
      append(
        tx,
        {
          user_id: 9,
          user_email: 'a@b.test',
          origin: {
            ip: '10.0.0.1',
            user_agent: 'ua',
            request_id: '0192c0de-0000-4000-8000-000000000001',
          },
        },
        {
          action: 'user.updated',
          tenant_id: 4,
          resource_type: 'user',
          resource_id: 9,
          changes: { before: { name: 'x' }, after: { name: 'ä😀' } },
        },
      ),
    )
    await heldBack(0)
    const seen: JournalEntry[] = []
    await consume(db, { name, handle: async (_tx, entries) => void seen.push(...entries) })
    expect(seen).toEqual([
      {
        id: expect.any(Number),
        xid: expect.stringMatching(/^\d+$/),
        tenant_id: 4,
        user_id: 9,
        user_email: 'a@b.test',
        action: 'user.updated',
        resource_type: 'user',
        resource_id: '9',
        changes: { before: { name: 'x' }, after: { name: 'ä😀' } },
        ip: '10.0.0.1',
        user_agent: 'ua',
        request_id: '0192c0de-0000-4000-8000-000000000001',
        created_at: expect.stringMatching(/Z$/),
        who_salt: null,
        what_salt: null,
        mac: null,
      },
    ])
  })
})

describe('a batch of journal entries', () => {
  test('contains only the requested columns and the position', async () => {
    await commit('a')
    await heldBack(0)
    const seen: object[] = []
    const columns = ['tenant_id', 'action'] as const
    await consume(db, { name, columns, handle: async (_, entries) => void seen.push(...entries) })
    const place = { id: expect.any(Number), xid: expect.stringMatching(/^\d+$/) }
    expect(seen).toEqual([{ ...place, tenant_id: null, action: 'tenant.updated' }])
  })

  test('writes nothing to the database if it is empty', async () => {
    const trace = () =>
      database.sql('select ctid, xmin, xmax, * from journal_consumers where consumer = $1', [name])
    const before = await trace()
    expect(await read()).toEqual([])
    expect(await trace()).toEqual(before)
  })

  test('runs its follow-up work after the commit, and not after a failure', async () => {
    await commit('a')
    await heldBack(0)
    const done: string[] = []
    const handle = (fails: boolean) => async (tx: TenantTx) => {
      tx.afterCommit(() => void done.push(fails ? 'failed' : 'committed'))
      if (fails) throw new Error('on purpose')
    }
    await expect(consume(db, { name, handle: handle(true) })).rejects.toThrow('on purpose')
    expect(await consume(db, { name, handle: handle(false) })).toBe(1)
    expect(done).toEqual(['committed'])
  })
})

describe('a transaction that wrote its journal entries first and commits last', () => {
  test('is not skipped, and later entries are read after its entries', async () => {
    const finish = await slow('slow')
    await commit('quick')
    expect(await read()).toEqual([])
    await commit('quicker')
    expect(await read()).toEqual([])
    await finish()
    await heldBack(0)
    expect(await read()).toEqual(['slow', 'quick', 'quicker'])
    expect(await read()).toEqual([])
  })

  test('does not delay entries that were committed before it began', async () => {
    await commit('before')
    const finish = await slow('slow')
    await commit('after')
    await heldBack(1)
    expect(await read()).toEqual(['before'])
    await finish()
    await heldBack(0)
    expect(await read()).toEqual(['slow', 'after'])
  })

  test('leaves no gap when it is rolled back', async () => {
    const written = gate()
    const end = gate()
    const outcome = db.acrossTenants(async (tx) => {
      await write(tx, 'never')
      written.open()
      await end.pass
      throw new Error('on purpose')
    })
    await written.pass
    await commit('kept')
    expect(await read()).toEqual([])
    end.open()
    await expect(outcome).rejects.toThrow('on purpose')
    await heldBack(0)
    expect(await read()).toEqual(['kept'])
  })

  test('keeps its position among several such transactions', async () => {
    const finishers = [await slow('one'), await slow('two'), await slow('three')]
    await finishers[2]?.()
    expect(await read()).toEqual([])
    await finishers[0]?.()
    await heldBack(1)
    expect(await read()).toEqual(['one'])
    await finishers[1]?.()
    await heldBack(0)
    expect(await read()).toEqual(['two', 'three'])
  })
})

describe('an error in the work of a consumer', () => {
  test('rolls back the work and keeps the position of the consumer', async () => {
    await commit('a', 'b')
    await heldBack(0)
    const attempt = consume(db, {
      name,
      handle: async (tx) => {
        await write(tx, 'undone')
        throw new Error('cannot')
      },
    })
    await expect(attempt).rejects.toThrow('cannot')
    await heldBack(0)
    expect(await read()).toEqual(['a', 'b'])
    expect(await read()).toEqual([])
  })
})

describe('two concurrent journal consumers with one name', () => {
  test('never handle the same batch: the second consumer is informed that the first one runs', async () => {
    await commit('a')
    await heldBack(0)
    const started = gate()
    const end = gate()
    const first = read({
      handle: async () => {
        started.open()
        await end.pass
      },
    })
    await started.pass
    expect(await read()).toBeNull()
    end.open()
    await first
    expect(await read()).toEqual([])
  })

  test('never handle the same batch, even if neither of them has read before', async () => {
    await commit('a', 'b', 'c')
    await heldBack(0)
    const seen: (string | null)[] = []
    const handle = async (_tx: TenantTx, entries: JournalEntry[]) =>
      void seen.push(...wordsOf(entries).slice(-3))
    const counts = await Promise.all(
      Array.from({ length: 4 }, () => consume(db, { name: `new-${name}`, handle, batch: 100_000 })),
    )
    expect(counts.filter((count) => count !== null && count > 0)).toHaveLength(1)
    expect(seen).toEqual(['a', 'b', 'c'])
  })
})
