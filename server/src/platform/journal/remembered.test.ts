/** Tests which entries a node remembers. The node uses them to verify a new database server. */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { unheard } from '../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { systemTime } from '../../lib/time.ts'
import { openScopes, recentEntries } from '../db/index.ts'
import type { Action } from './actions.ts'
import { append, appendAll, SYSTEM } from './append.ts'

const ELSEWHERE = { systemId: '1', timeline: '1', startedAt: '1' }

let database: TestDatabase

beforeAll(async () => {
  database = await migratedDatabase()
})

function remembering() {
  const recent = recentEntries()
  const db = openScopes(database.address, {
    clock: systemTime,
    size: 2,
    changes: unheard,
    recent,
    log: silentLog,
  })
  onTestFinished(() => db.close())
  const remembered = () =>
    recent.acknowledgedElsewhere(ELSEWHERE).map(({ resource_id }) => resource_id)
  return { db, remembered }
}

const entry = (action: Action, word: string) => ({
  action,
  tenant_id: null,
  resource_type: 'word',
  resource_id: word,
})

test('the node remembers journal entries of changes, but not of failed sign-ins or refused calls', async () => {
  const { db, remembered } = remembering()
  await db.acrossTenants(async (tx) => {
    await append(tx, SYSTEM, entry('tenant.updated', 'one'))
    await append(tx, SYSTEM, entry('auth.login_failed', 'guess'))
    await append(tx, SYSTEM, entry('access.refused', 'refusal'))
    appendAll(tx, SYSTEM, [entry('auth.login_failed', 'guesses')])
    appendAll(tx, SYSTEM, [entry('tenant.updated', 'two')])
  })
  expect(remembered()).toEqual(['one', 'two'])
})

test('the node remembers no journal entry of a transaction that is rolled back', async () => {
  const { db, remembered } = remembering()
  const change = db.acrossTenants(async (tx) => {
    await append(tx, SYSTEM, entry('tenant.updated', 'undone'))
    throw new Error('on purpose')
  })
  await expect(change).rejects.toThrow('on purpose')
  expect(remembered()).toEqual([])
})

test('the node remembers the last 100 journal entries of an import', async () => {
  const { db, remembered } = remembering()
  const many = Array.from({ length: 250 }, (_, at) => entry('tenant.updated', `many-${at}`))
  await db.acrossTenants(async (tx) => appendAll(tx, SYSTEM, many))
  expect(remembered()).toHaveLength(100)
  expect(remembered()).toContain('many-249')
  expect(remembered()).not.toContain('many-149')
})
