/** Tests that a session state stays cached until the session, its user or its tenant changes. */
import { describe, expect, test } from 'vitest'
import { hearing } from '../../../../test/support/change-notifications.ts'
import type { Scopes, TenantTx, Topic } from '../../../platform/db/index.ts'
import { sessionStates } from './session-states.ts'
import type { SessionState } from './sessions.store.ts'

const TENANT = 3
const MAX_ENTRIES = 2
const JTI = '6b8d2a1e-0c54-4f0e-9a53-2f7f2f1f0c11'

const stateOf = (full_name: string, fields: object = {}) =>
  ({
    profile: { id: 5, tenant_id: TENANT, department_id: 7, full_name, ...fields },
    is_demo: false,
  }) as SessionState

/** Returns session states with a database whose reads stay pending until the test resolves them. */
function controlled() {
  const reads: ((state: SessionState | undefined) => void)[] = []
  const db = {
    inTenant: (_tenantId: number, _work: (tx: TenantTx) => Promise<unknown>) =>
      new Promise((resolve) => reads.push(resolve)),
  } as unknown as Scopes
  const heard = hearing()
  return { states: sessionStates(db, heard.changes, MAX_ENTRIES), reads, heard, ...heard }
}

/** Returns session states after one read, so that one session is cached. */
async function holding(state = stateOf('Before')) {
  const made = controlled()
  const asked = made.states.get(TENANT, JTI)
  made.reads[0]?.(state)
  await asked
  return made
}

describe('the session cache', () => {
  test('returns a session that was read before', async () => {
    const { states, reads } = await holding()
    expect(states.get(TENANT, JTI)).toMatchObject({ profile: { full_name: 'Before' } })
    expect(reads).toHaveLength(1)
  })

  test('reads a session once for concurrent callers', async () => {
    const { states, reads } = controlled()
    const asked = [states.get(TENANT, JTI), states.get(TENANT, JTI), states.get(TENANT, JTI)]
    expect(reads).toHaveLength(1)
    reads[0]?.(stateOf('Once'))
    expect(new Set(await Promise.all(asked)).size).toBe(1)
  })

  test('does not return a session for another tenant', async () => {
    const { states, reads } = await holding()
    const asked = states.get(TENANT + 1, JTI)
    expect(reads).toHaveLength(2)
    reads[1]?.(undefined)
    expect(await asked).toBeUndefined()
  })

  test('reads an ended session again, because only live sessions are cached', async () => {
    const { states, reads } = controlled()
    const asked = states.get(TENANT, JTI)
    reads[0]?.(undefined)
    expect(await asked).toBeUndefined()
    void states.get(TENANT, JTI)
    expect(reads).toHaveLength(2)
  })

  test('reads a session again after a failed read', async () => {
    const { changes } = hearing()
    let reads = 0
    const db = {
      inTenant: async () => {
        reads += 1
        throw new Error('away')
      },
    } as unknown as Scopes
    const states = sessionStates(db, changes, MAX_ENTRIES)
    await expect(states.get(TENANT, JTI)).rejects.toThrow('away')
    await expect(states.get(TENANT, JTI)).rejects.toThrow('away')
    expect(reads).toBe(2)
  })
})

describe('the limit of cached sessions', () => {
  test('drops the least recently used session', async () => {
    const { states, reads } = controlled()
    const ids = ['first', 'second', 'third']
    const asked = ids.map((id) => states.get(TENANT, id))
    for (const read of reads) read(stateOf('Anna'))
    await Promise.all(asked)
    expect(ids.map((id) => states.has(TENANT, id))).toEqual([false, true, true])
  })
})

describe('a cached session', () => {
  test.each([`session:${JTI}`, 'user:5', `tenant:${TENANT}`, 'department:7'])(
    'is dropped after a notification of %s',
    async (topic) => {
      const { states, reads, changes } = await holding()
      changes.invalidate([topic as Topic])
      expect(states.get(TENANT, JTI)).toBeInstanceOf(Promise)
      expect(reads).toHaveLength(2)
    },
  )

  test.each([
    'session:other',
    'user:55',
    'user:6',
    'tenant:30',
    'department:5',
    'keys',
    'journal',
    'due',
    'due:5',
    'what:5',
    '',
  ])('stays cached after a notification of "%s"', async (topic) => {
    const { states, changes } = await holding()
    changes.invalidate([topic as Topic])
    expect(states.get(TENANT, JTI)).toMatchObject({ profile: { full_name: 'Before' } })
  })

  test('is dropped if a notification may have been missed', async () => {
    const { states, reads, missed } = await holding()
    missed()
    expect(states.get(TENANT, JTI)).toBeInstanceOf(Promise)
    expect(reads).toHaveLength(2)
  })
})

describe('a read that overlaps with a change', () => {
  test.each<[string, (made: ReturnType<typeof controlled>) => void]>([
    ['the topic of the session', ({ changes }) => changes.invalidate([`session:${JTI}`])],
    ['the topic of its user', ({ changes }) => changes.invalidate(['user:5'])],
    ['a report of missed notifications', ({ missed }) => missed()],
  ])('is not cached if the change is announced by %s', async (_, overtake) => {
    const made = controlled()
    const early = made.states.get(TENANT, JTI)
    overtake(made)
    made.reads[0]?.(stateOf('Old'))
    await early
    const late = made.states.get(TENANT, JTI)
    expect(made.reads).toHaveLength(2)
    made.reads[1]?.(undefined)
    expect(await late).toBeUndefined()
  })

  test('is not returned to callers that ask after the change', async () => {
    const { states, reads, changes } = controlled()
    const early = states.get(TENANT, JTI)
    changes.invalidate(['user:5'])
    const late = states.get(TENANT, JTI)
    expect(reads).toHaveLength(2)
    reads[1]?.(stateOf('New'))
    expect(await late).toMatchObject({ profile: { full_name: 'New' } })
    reads[0]?.(stateOf('Old'))
    await early
    expect(states.get(TENANT, JTI)).toMatchObject({ profile: { full_name: 'New' } })
  })
})

test('the session cache stores a session that is read during notifications of journal entries and due jobs', async () => {
  const { states, reads, changes } = controlled()
  const asked = [states.get(TENANT, JTI)]
  for (const topic of ['journal', 'due', 'due:5'] as const) {
    changes.notify(topic)
    asked.push(states.get(TENANT, JTI))
  }
  expect(reads).toHaveLength(1)
  reads[0]?.(stateOf('Once'))
  await Promise.all(asked)
  expect(states.get(TENANT, JTI)).toMatchObject({ profile: { full_name: 'Once' } })
})

describe('the session cache, while notifications may be missed,', () => {
  test('reads the session from the database for every caller', async () => {
    const { states, reads, heard } = await holding()
    heard.trusted = false
    const asked = [states.get(TENANT, JTI), states.get(TENANT, JTI)]
    expect(reads).toHaveLength(3)
    reads[1]?.(undefined)
    reads[2]?.(stateOf('After'))
    expect(await asked[0]).toBeUndefined()
    expect(await asked[1]).toMatchObject({ profile: { full_name: 'After' } })
  })

  test('does not store a session that was read', async () => {
    const { states, reads, heard, missed } = controlled()
    heard.trusted = false
    const asked = states.get(TENANT, JTI)
    reads[0]?.(stateOf('Meanwhile'))
    await asked
    heard.trusted = true
    missed()
    expect(states.get(TENANT, JTI)).toBeInstanceOf(Promise)
    expect(reads).toHaveLength(2)
  })
})
