/**
 * Tests the long-term throughput of a receiver, depending on how often it fails. Simulates a queue with pauses, and
 * compares it with a loop that sends without pauses.
 */
import { describe, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../../lib/clock.ts'
import { afterFailure, afterSuccess, type Circuit, slotsNow } from './circuit.ts'

/** Returns whether the message with this number fails if it is sent at this time. */
type Fails = (index: number, at: number) => boolean

interface Run {
  delivered: number
  /** The start of each attempt, in milliseconds after the start of the simulation. */
  tries: number[]
  circuit: Circuit
}

const START: Circuit = {
  failures: 0,
  share: 0,
  failing_since: null,
  failedAt: 0,
  slots: 4,
  pausedUntil: 0,
}
const MOST = 16

/** Creates a pseudo-random number generator that returns the same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

interface Options {
  ms: number
  /** The mean response time of the receiver in milliseconds. Each response takes between 50 % and 150 % of it. */
  latency?: number
  status?: number | null
  /**
   * True if another process claims the queue after each burst. It continues with the stored state of the circuit
   * breaker.
   */
  moved?: boolean
  from?: Circuit
}

/** Simulates sending an endless backlog. Pauses like the dispatcher, or sends without pauses if `isPaced` is false. */
function send(fails: Fails, isPaced: boolean, options: Options): Run {
  const { ms, latency = 20, status = 503, moved = false, from = START } = options
  const random = randomOf(1)
  let circuit = from
  let now = 0
  let delivered = 0
  const tries: number[] = []
  const running: { ends: number; isFailure: boolean }[] = []
  const room = () => (isPaced ? (circuit.pausedUntil > now ? 0 : slotsNow(circuit)) : MOST)
  while (now < ms) {
    while (running.length < room()) {
      running.push({
        ends: now + latency * (0.5 + random()),
        isFailure: fails(tries.length, now),
      })
      tries.push(now)
    }
    running.sort((one, other) => one.ends - other.ends)
    const next = running.shift()
    // The queue is released between bursts, so only the stored state of its circuit breaker is kept.
    if (!next && moved) circuit = { ...circuit, slots: Math.floor(circuit.slots) }
    now = next?.ends ?? circuit.pausedUntil
    if (!next || now >= ms) continue
    if (!next.isFailure) delivered += 1
    const attempt = { status_code: status, retry_after: null }
    circuit = next.isFailure
      ? afterFailure(circuit, attempt, now, () => 0.5).circuit
      : afterSuccess(circuit, now)
  }
  return { delivered, tries, circuit }
}

/**
 * Returns the number of messages delivered with pauses, divided by the number that the loop without pauses delivers.
 */
function part(fails: () => Fails, options: Options): number {
  return send(fails(), true, options).delivered / send(fails(), false, options).delivered
}

/** Creates a receiver that fails at random. */
const byChance = (share: number, seed: number) => () => {
  const random = randomOf(seed)
  return () => random() < share
}

const every = (times: number) => () => (index: number) => index % times === times - 1
const burst = (failing: number, of: number) => () => (index: number) => index % of >= of - failing

describe('an occasionally failing receiver', () => {
  test.each<[string, () => Fails]>([
    ['every third message', every(3)],
    ['every second message', every(2)],
    ['one of a hundred', every(100)],
    ['four in a row of twenty', burst(4, 20)],
    ['a tenth, by chance', byChance(0.1, 5)],
    ['a third, by chance', byChance(1 / 3, 6)],
    ['half, by chance', byChance(1 / 2, 7)],
  ])(
    'that fails %s still gets at least half the messages of a sender without pauses',
    (_, fails) => {
      for (const status of [500, 502, 503, 504, null])
        for (const latency of [20, 200])
          expect(part(fails, { ms: 2 * MINUTE, latency, status })).toBeGreaterThanOrEqual(0.5)
    },
  )

  test('gets at least half the messages of a sender without pauses in the first fifteen seconds', () => {
    expect(part(every(3), { ms: 15 * SECOND })).toBeGreaterThanOrEqual(0.5)
  })

  test('gets at least half the messages of a sender without pauses if another process takes its queue over', () => {
    const kept = { ...send(every(3)(), true, { ms: MINUTE }).circuit, slots: 1 }
    const options = { ms: MINUTE, from: kept, moved: true }
    expect(part(every(3), options)).toBeGreaterThanOrEqual(0.5)
  })
})

describe('a receiver that always fails', () => {
  /** Returns the maximum number of attempts within any period of one minute. */
  const mostInAMinute = ({ tries }: Run) =>
    Math.max(
      ...tries.map(
        (start, index) => tries.slice(index).findLastIndex((at) => at < start + MINUTE) + 1,
      ),
    )

  test.each([500, 503, null])(
    'with the status %j gets at most eleven attempts in any minute, and few after ten minutes',
    (status) => {
      const run = send(() => true, true, { ms: 30 * MINUTE, status })
      expect(mostInAMinute(run)).toBeLessThanOrEqual(11)
      // Five failures open the breaker. Probes follow after 5 s, 10 s, 20 s, … and finally every five minutes.
      expect(run.tries.length).toBeLessThanOrEqual(18)
      expect(run.tries.filter((at) => at > 10 * MINUTE).length).toBeLessThanOrEqual(5)
    },
  )

  test.each<[string, () => Fails]>([
    ['well', () => () => false],
    ['with every third message failing', every(3)],
    ['with half the messages failing', byChance(1 / 2, 7)],
  ])('gets few attempts in an outage if it worked %s before', (_, before) => {
    const good = before()
    const DOWN = 10 * SECOND
    const run = send((index, at) => at >= DOWN || good(index, at), true, { ms: 20 * MINUTE })
    const down = run.tries.filter((at) => at >= DOWN)
    // Sixteen messages were in flight. Four more failures in a row and then three probes follow.
    expect(mostInAMinute({ ...run, tries: down })).toBeLessThanOrEqual(23)
    expect(down.filter((at) => at > DOWN + 10 * MINUTE).length).toBeLessThanOrEqual(3)
  })

  test('gets few attempts even if one attempt in ten succeeds', () => {
    const always = send(byChance(0.9, 4)(), true, { ms: 60 * MINUTE })
    expect(always.tries.length / 60).toBeLessThanOrEqual(23)
  })
})

describe('a receiver that recovers', () => {
  test('soon gets at least nine tenths of the messages of a sender without pauses', () => {
    const from = send(() => true, true, { ms: 10 * MINUTE }).circuit
    const back = { ...from, pausedUntil: 0 }
    expect(part(() => () => false, { ms: MINUTE, from: back })).toBeGreaterThanOrEqual(0.9)
  })

  test('has a low failure share after its first success, even if it was down for a long time', () => {
    const from = { ...send(() => true, true, { ms: 60 * MINUTE }).circuit, pausedUntil: 0 }
    expect(afterSuccess(from, 0).share).toBeLessThan(0.25)
  })
})
