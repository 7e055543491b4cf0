/** What is held of sessions in memory: kept while nothing changes, dropped by what does, never late. */
import { describe, expect, test } from 'vitest'
import { hearing } from '../../../../test/support/hearing.ts'
import type { Scopes, TenantTx, Topic } from '../../../platform/db/index.ts'
import { sessionStates } from './session-states.ts'
import type { SessionState } from './sessions.store.ts'

const TENANT = 3
const JTI = '6b8d2a1e-0c54-4f0e-9a53-2f7f2f1f0c11'

const stateOf = (full_name: string, fields: object = {}) =>
  ({
    profile: { id: 5, tenant_id: TENANT, department_id: 7, full_name, ...fields },
    is_demo: false,
  }) as SessionState

/** A database of one answer at a time, which waits until the test lets it go. */
function controlled() {
  const reads: ((state: SessionState | undefined) => void)[] = []
  const db = {
    inTenant: (_tenantId: number, _work: (tx: TenantTx) => Promise<unknown>) =>
      new Promise((resolve) => reads.push(resolve)),
  } as unknown as Scopes
  const heard = hearing()
  return { states: sessionStates(db, heard.changes), reads, heard, ...heard }
}

/** The states with one session held, read once. */
async function holding(state = stateOf('Before')) {
  const made = controlled()
  const asked = made.states.get(TENANT, JTI)
  made.reads[0]?.(state)
  await asked
  return made
}

describe('a session that was read', () => {
  test('is answered at once from then on', async () => {
    const { states, reads } = await holding()
    expect(states.get(TENANT, JTI)).toMatchObject({ profile: { full_name: 'Before' } })
    expect(reads).toHaveLength(1)
  })

  test('is read once for all who ask meanwhile', async () => {
    const { states, reads } = controlled()
    const asked = [states.get(TENANT, JTI), states.get(TENANT, JTI), states.get(TENANT, JTI)]
    expect(reads).toHaveLength(1)
    reads[0]?.(stateOf('Once'))
    expect(new Set(await Promise.all(asked)).size).toBe(1)
  })

  test('is not answered to another tenant', async () => {
    const { states, reads } = await holding()
    const asked = states.get(TENANT + 1, JTI)
    expect(reads).toHaveLength(2)
    reads[1]?.(undefined)
    expect(await asked).toBeUndefined()
  })

  test('is read again when it had ended: nothing is held of what is not there', async () => {
    const { states, reads } = controlled()
    const asked = states.get(TENANT, JTI)
    reads[0]?.(undefined)
    expect(await asked).toBeUndefined()
    void states.get(TENANT, JTI)
    expect(reads).toHaveLength(2)
  })

  test('is read again when the reading failed', async () => {
    const { changes } = hearing()
    let reads = 0
    const db = {
      inTenant: async () => {
        reads += 1
        throw new Error('away')
      },
    } as unknown as Scopes
    const states = sessionStates(db, changes)
    await expect(states.get(TENANT, JTI)).rejects.toThrow('away')
    await expect(states.get(TENANT, JTI)).rejects.toThrow('away')
    expect(reads).toBe(2)
  })
})

describe('a change', () => {
  test.each([`session:${JTI}`, 'user:5', `tenant:${TENANT}`, 'department:7'])(
    'of %s drops it',
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
  ])('of "%s" does not', async (topic) => {
    const { states, changes } = await holding()
    changes.invalidate([topic as Topic])
    expect(states.get(TENANT, JTI)).toMatchObject({ profile: { full_name: 'Before' } })
  })

  test('that may have been missed drops everything', async () => {
    const { states, reads, missed } = await holding()
    missed()
    expect(states.get(TENANT, JTI)).toBeInstanceOf(Promise)
    expect(reads).toHaveLength(2)
  })
})

describe('a reading that a change overtakes', () => {
  test.each<[string, (made: ReturnType<typeof controlled>) => void]>([
    ['a topic', ({ changes }) => changes.invalidate([`session:${JTI}`])],
    ['a topic of its user', ({ changes }) => changes.invalidate(['user:5'])],
    ['what was missed', ({ missed }) => missed()],
  ])('(%s) is not kept', async (_, overtake) => {
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

  test('is not what those get who ask after the change', async () => {
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

test('a notification of work leaves a reading alone: it is shared and kept', async () => {
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

describe('while changes may be missed', () => {
  test('every question is read, and nothing held is believed', async () => {
    const { states, reads, heard } = await holding()
    heard.trusted = false
    const asked = [states.get(TENANT, JTI), states.get(TENANT, JTI)]
    expect(reads).toHaveLength(3)
    reads[1]?.(undefined)
    reads[2]?.(stateOf('After'))
    expect(await asked[0]).toBeUndefined()
    expect(await asked[1]).toMatchObject({ profile: { full_name: 'After' } })
  })

  test('nothing that is read is held for afterwards', async () => {
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
