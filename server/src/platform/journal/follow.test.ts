/** Tests followers of the journal over time: many writers, restarts, errors, notifications and shutdown. */
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { scopesOf } from '../../../test/sessions/scopes.ts'
import { eventually } from '../../../test/sessions/users.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import type { Scopes } from '../db/index.ts'
import { append, SYSTEM } from './append.ts'
import { type FollowOptions, follow, type JournalEntry } from './index.ts'

let db: Scopes

beforeAll(async () => {
  db = scopesOf(await migratedDatabase())
})

const write = (kind: string, word: string | number) =>
  db.acrossTenants((tx) =>
    append(tx, SYSTEM, {
      action: 'tenant.updated',
      tenant_id: null,
      resource_type: kind,
      resource_id: word,
    }),
  )

/** Starts a follower that collects entries of `kind`. The follower stops at the end of the test at the latest. */
function collect(kind: string, seen: string[], options: Partial<FollowOptions> = {}) {
  const follower = follow(db, silentLog, {
    name: kind,
    pollMs: 10,
    handle: async (_tx, entries: JournalEntry[]) => {
      for (const { resource_type, resource_id } of entries)
        if (resource_type === kind) seen.push(String(resource_id))
    },
    ...options,
  })
  onTestFinished(() => follower.stop())
  return follower
}

describe('journal entries of many concurrent writers', () => {
  test('are read exactly once by followers on several nodes', async () => {
    const seen: string[] = []
    for (let node = 0; node < 3; node += 1) collect('crowd', seen, { batch: 7 })
    await Promise.all(
      Array.from({ length: 16 }, async (_, writer) => {
        for (let entry = 0; entry < 20; entry += 1) await write('crowd', `${writer}/${entry}`)
      }),
    )
    await eventually(
      () => seen.length,
      (count) => count >= 320,
      10_000,
    )
    expect(new Set(seen).size).toBe(320)
    expect(seen).toHaveLength(320)
  })

  test('are read in the order in which their writer wrote them', async () => {
    const seen: string[] = []
    collect('order', seen, { batch: 5 })
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        for (let entry = 0; entry < 15; entry += 1) await write('order', `${writer}/${entry}`)
      }),
    )
    await eventually(
      () => seen.length,
      (count) => count >= 120,
      10_000,
    )
    for (let writer = 0; writer < 8; writer += 1)
      expect(seen.filter((word) => word.startsWith(`${writer}/`))).toEqual(
        Array.from({ length: 15 }, (_, entry) => `${writer}/${entry}`),
      )
  })
})

describe('a follower of the journal', () => {
  test('continues from its position after a restart', async () => {
    const before: string[] = []
    const first = collect('restart', before)
    await write('restart', 1)
    await eventually(
      () => before.length,
      (count) => count === 1,
    )
    await first.stop()
    await write('restart', 2)
    const after: string[] = []
    collect('restart', after)
    await eventually(
      () => after.length,
      (count) => count > 0,
    )
    expect([before, after]).toEqual([['1'], ['2']])
  })

  test('retries a batch that failed', async () => {
    const seen: string[] = []
    const tries: string[][] = []
    collect('again', [], {
      handle: async (_tx, entries) => {
        const words = entries
          .filter(({ resource_type }) => resource_type === 'again')
          .map(({ resource_id }) => String(resource_id))
        // The follower may first read entries of earlier tests, which contain no words.
        if (words.length === 0) return
        tries.push(words)
        if (tries.length <= 3) throw new Error('not yet')
        seen.push(...words)
      },
    })
    await write('again', 'a')
    await eventually(
      () => seen.length,
      (count) => count > 0,
    )
    expect(seen).toEqual(['a'])
    expect(tries).toEqual(Array(4).fill(['a']))
  })

  test('reads entries immediately when it is notified, before its next poll', async () => {
    const seen: string[] = []
    const follower = collect('woken', seen, { pollMs: 3_600_000 })
    await write('woken', 'a')
    await eventually(
      () => {
        follower.wake()
        return seen.length
      },
      (count) => count === 1,
    )
  })

  test('handles no entries after it has stopped', async () => {
    const seen: string[] = []
    const follower = collect('stopped', seen, { pollMs: 3_600_000 })
    await follower.stop()
    await write('stopped', 'a')
    follower.wake()
    const other: string[] = []
    collect('stopped', other)
    await eventually(
      () => other.length,
      (count) => count === 1,
    )
    expect(seen).toEqual([])
  })
})
