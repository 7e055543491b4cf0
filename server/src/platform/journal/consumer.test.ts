/** The order in which consumers see the journal: that of commits, with nothing skipped or twice. */
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
  // A consumer of its own for every test, which has read all that was there before.
  made += 1
  name = `consumer-${made}`
  await heldBack(0)
  while ((await consume(db, { name, handle: async () => undefined })) !== 0);
})

/**
 * Waits until only `count` committed entries are held back. Numbers of transactions are the whole
 * server's, so that of a test file beside this one may hold some back for a moment too.
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
  // The entry is only sent so far; the answer to what follows it says that it is written.
  await sql`select 1`.execute(tx.db)
}
const commit = (...words: string[]) =>
  db.acrossTenants(async (tx) => {
    for (const word of words) await write(tx, word)
  })
const wordsOf = (entries: JournalEntry[]) => entries.map(({ resource_id }) => resource_id)

/** Reads one batch; returns the words in it, or what `consume` answered in their place. */
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

/** A transaction that has written `word` and stays open. */
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

describe('a consumer', () => {
  test('sees what was committed, once, in order', async () => {
    await commit('a', 'b')
    await commit('c')
    await heldBack(0)
    expect(await read()).toEqual(['a', 'b', 'c'])
    expect(await read()).toEqual([])
  })

  test('goes on from its own position, whoever else has read', async () => {
    await commit('a')
    await heldBack(0)
    expect(await read()).toEqual(['a'])
    await commit('b')
    await heldBack(0)
    const other = await read({ name: `other-of-${name}`, batch: 1 })
    expect(other).toHaveLength(1)
    expect(await read()).toEqual(['b'])
  })

  test('takes no more than a batch, also out of the middle of a transaction', async () => {
    await commit('a', 'b', 'c', 'd', 'e')
    await heldBack(0)
    expect(await read({ batch: 2 })).toEqual(['a', 'b'])
    expect(await read({ batch: 2 })).toEqual(['c', 'd'])
    expect(await read({ batch: 2 })).toEqual(['e'])
  })

  test('sees entries as they were written', async () => {
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
      },
    ])
  })
})

describe('what a consumer asks for', () => {
  test('is all that it gets of an entry beside its place', async () => {
    await commit('a')
    await heldBack(0)
    const seen: object[] = []
    const columns = ['tenant_id', 'action'] as const
    await consume(db, { name, columns, handle: async (_, entries) => void seen.push(...entries) })
    const place = { id: expect.any(Number), xid: expect.stringMatching(/^\d+$/) }
    expect(seen).toEqual([{ ...place, tenant_id: null, action: 'tenant.updated' }])
  })

  test('is read without a trace when there is nothing', async () => {
    const trace = () =>
      database.sql('select ctid, xmin, xmax, * from journal_consumers where consumer = $1', [name])
    const before = await trace()
    expect(await read()).toEqual([])
    expect(await trace()).toEqual(before)
  })

  test('may be followed by what is due after the commit, and by nothing when it fails', async () => {
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

describe('a transaction that wrote first and commits last', () => {
  test('is not skipped, and what came after it is not seen before it', async () => {
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

  test('does not hold back what was committed before it began', async () => {
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

  test('keeps its place among several of its kind', async () => {
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

describe('an error in the work', () => {
  test('moves nothing and undoes what the work wrote', async () => {
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

describe('two at once under one name', () => {
  test('never handle the same batch: the second is told that the first is at work', async () => {
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

  test('never handle the same batch, even if neither has ever read', async () => {
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
