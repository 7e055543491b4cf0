import { describe, expect, test } from 'vitest'
import {
  answerFaults,
  blockFaults,
  connectionFaults,
  findingFaults,
  journalFaults,
  longestPause,
  lostWriteFaults,
  reportFaults,
  returnDelay,
  returnFaults,
  webhookFaults,
} from './checks.ts'
import { acknowledgedIds, type BlockRecord, openLedger } from './ledger.ts'

const result = (status: number | null, given: { retryAfter?: string; detail?: string } = {}) => ({
  status,
  retryAfter: given.retryAfter ?? null,
  body: { detail: given.detail },
  sentAt: 0,
  answeredAt: 1,
})

describe('the record of acknowledged writes', () => {
  test('contains the IDs of acknowledged writes by kind', () => {
    const ledger = openLedger()
    ledger.record('A', 'department', result(201), 1)
    ledger.record('A', 'department', result(503), 2)
    ledger.record('A', 'department', result(null), undefined)
    ledger.record('B', 'user', result(201), 3)
    expect(acknowledgedIds(ledger, 'department')).toEqual([1])
    expect(acknowledgedIds(ledger, 'user')).toEqual([3])
  })
})

describe('answerFaults', () => {
  test('accepts responses 2xx, and 503 with Retry-After', () => {
    const ledger = openLedger()
    ledger.record('A', 'user', result(201), 1)
    ledger.record('A', 'user', result(503, { retryAfter: '2' }))
    expect(answerFaults(ledger.entries)).toEqual([])
  })

  test('accepts additional statuses that its caller names', () => {
    const ledger = openLedger()
    ledger.record('A', 'user', result(401))
    expect(answerFaults(ledger.entries)).toHaveLength(1)
    expect(answerFaults(ledger.entries, [401])).toEqual([])
  })

  test('counts every other response by node and status, with the detail of the first one', () => {
    const ledger = openLedger()
    ledger.record('A', 'user', result(500, { detail: 'Internal error' }))
    ledger.record('A', 'patient', result(500))
    ledger.record('B', 'user', result(503))
    ledger.record('B', 'user', result(null, { detail: 'TimeoutError' }))
    ledger.record('B', 'user', result(409))
    expect(answerFaults(ledger.entries)).toEqual([
      '2 requests answered 500 by node A (user: Internal error)',
      '1 requests answered 503 without Retry-After by node B (user)',
      '1 requests without an answer by node B (user: TimeoutError)',
      '1 requests answered 409 by node B (user)',
    ])
  })
})

describe('reportFaults', () => {
  test('accepts a loss of writes that the service reported, and rejects a report without a loss', () => {
    expect(reportFaults(['1 write is lost'], true)).toEqual([])
    expect(reportFaults([], false)).toEqual([])
    expect(reportFaults(['1 write is lost'], false)).toEqual([
      '1 write is lost, and the service did not report it',
    ])
    expect(reportFaults([], true)).toEqual(['the service reported lost writes, and none are lost'])
  })
})

describe('lostWriteFaults', () => {
  test('accepts records that were stored without an acknowledgement', () => {
    expect(lostWriteFaults('user', [1, 2], new Set([1, 2, 3]))).toEqual([])
  })

  test('reports acknowledged records that were lost', () => {
    expect(lostWriteFaults('user', [1, 2, 3], new Set([2]))).toEqual([
      '2 of 3 acknowledged writes of users are lost (1, 3)',
    ])
  })
})

describe('journalFaults', () => {
  test('accepts one journal entry per row', () => {
    const entries = new Map([
      [1, 1],
      [2, 1],
    ])
    expect(journalFaults('user', [1, 2], entries)).toEqual([])
  })

  test('reports rows without an entry, rows with several entries, and entries without a row', () => {
    const entries = new Map([
      [2, 2],
      [3, 1],
    ])
    expect(journalFaults('user', [1, 2], entries)).toEqual([
      '1 users without a journal entry (1)',
      '1 users with several journal entries (2)',
      '1 journal entries without their user (3)',
    ])
  })
})

describe('webhookFaults', () => {
  test('accepts repeated deliveries of one message if their bodies are equal', () => {
    expect(webhookFaults(['a'], new Map([['a', new Set(['{}'])]]))).toEqual([])
  })

  test('reports missing messages, unknown messages, and message IDs with two bodies', () => {
    const received = new Map([
      ['a', new Set(['{}', '{"other":1}'])],
      ['c', new Set(['{}'])],
    ])
    expect(webhookFaults(['a', 'b'], received)).toEqual([
      '1 webhook messages did not arrive (b)',
      '1 webhook messages of events that the journal does not have (c)',
      '1 webhook ids with several bodies (a)',
    ])
  })
})

describe('blockFaults', () => {
  const blocked = (...probes: [number, number | null][]): BlockRecord => ({
    userId: 7,
    blockedOn: 'A',
    acknowledgedAt: 1_000,
    probes: probes.map(([sentAt, status]) => ({ sentAt, status })),
  })

  test('accepts any responses within the time limit, and only 503 or none afterwards', () => {
    expect(blockFaults([blocked([1_900, 200], [2_100, 503], [2_500, null], [3_000, 401])])).toEqual(
      [],
    )
  })

  test('reports a user who was still served after the time limit, with the time of the last response', () => {
    expect(blockFaults([blocked([2_000, 200], [3_500, 200], [4_000, 401])])).toEqual([
      '1 of 1 blocked users were let in by the other node, up to 2.5 s after their block (7)',
    ])
  })
})

describe('returnDelay', () => {
  const beats = (...moments: [number, boolean][]) =>
    moments.map(([at, succeeded]) => ({ at, succeeded }))

  test('measures the time from the first heartbeat after an outage to the next write of the node', () => {
    const around = beats([100, true], [300, false], [5_000, true], [5_200, true])
    expect(returnDelay(around, [150, 5_900], 6_000)).toBe(900)
  })

  test('does not include the outage itself', () => {
    expect(returnDelay(beats([100, true], [300, false]), [100], 9_000)).toBe(0)
  })

  test('includes a node that does not write again before the load ends', () => {
    expect(returnDelay(beats([100, true], [300, true]), [50], 9_000)).toBe(8_900)
  })

  test('starts again if the leader fails once more', () => {
    const around = beats([100, true], [900, false], [1_000, true])
    expect(returnDelay(around, [1_200], 1_200)).toBe(200)
  })
})

describe('the other cluster checks', () => {
  test('accept two seconds until a node writes again, and report longer delays', () => {
    expect(returnFaults('A', 2_000)).toEqual([])
    expect(returnFaults('A', 2_100)).toEqual([
      'node A wrote nothing for 2.1 s while the leader accepted writes',
    ])
  })

  test('report too many connections, and connections to standbys', () => {
    expect(connectionFaults(76, { leader: 76, standbys: 0 })).toEqual([])
    expect(connectionFaults(76, { leader: 77, standbys: 2 })).toEqual([
      '77 connections to the leader, above the bound of 76',
      '2 connections to standbys',
    ])
  })

  test('report self-healing findings that did not exist before the fault', () => {
    expect(findingFaults(new Set(['a']), ['a'])).toEqual([])
    expect(findingFaults(new Set(['a']), ['a', 'b', 'b'])).toEqual(['self-healing reported b'])
  })

  test('find the longest gap between times in any order', () => {
    expect(longestPause([500, 100, 3_000])).toBe(2_500)
    expect(longestPause([])).toBe(0)
  })
})
