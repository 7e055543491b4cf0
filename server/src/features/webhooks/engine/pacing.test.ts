/**
 * How much a receiver is sent in the long run, by how often it fails: a simulated queue on a simulated
 * clock, beside a loop that never waits.
 */
import { describe, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../../lib/clock.ts'
import { afterFailure, afterSuccess, type Circuit, slotsNow } from './circuit.ts'

/** Whether the message of this number fails that is begun at this time. */
type Fails = (index: number, at: number) => boolean

interface Run {
  delivered: number
  /** When each try began, in milliseconds. */
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

/** The same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

interface Options {
  ms: number
  /** How long a receiver takes for an answer, a half more or less. */
  latency?: number
  status?: number | null
  /** Where the queue is claimed by another process, with what is kept of its circuit. */
  moved?: boolean
  from?: Circuit
}

/** Sends from an endless backlog as the dispatcher does; `isPaced` false is the loop without pauses. */
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
    // Between its bursts a queue is let go of: what goes on is what was written down.
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

/** What is delivered, as a part of what the loop delivers. */
function part(fails: () => Fails, options: Options): number {
  return send(fails(), true, options).delivered / send(fails(), false, options).delivered
}

/** A receiver that fails by chance. */
const byChance = (share: number, seed: number) => () => {
  const random = randomOf(seed)
  return () => random() < share
}

const every = (times: number) => () => (index: number) => index % times === times - 1
const burst = (failing: number, of: number) => () => (index: number) => index % of >= of - failing

describe('a receiver that fails now and then is sent at least half of what a loop would', () => {
  test.each<[string, () => Fails]>([
    ['every third message', every(3)],
    ['every second message', every(2)],
    ['one of a hundred', every(100)],
    ['four in a row of twenty', burst(4, 20)],
    ['a tenth, by chance', byChance(0.1, 5)],
    ['a third, by chance', byChance(1 / 3, 6)],
    ['half, by chance', byChance(1 / 2, 7)],
  ])('%s', (_, fails) => {
    for (const status of [500, 502, 503, 504, null])
      for (const latency of [20, 200])
        expect(part(fails, { ms: 2 * MINUTE, latency, status })).toBeGreaterThanOrEqual(0.5)
  })

  test('from the first fifteen seconds on', () => {
    expect(part(every(3), { ms: 15 * SECOND })).toBeGreaterThanOrEqual(0.5)
  })

  test('also where another process goes on with it', () => {
    const kept = { ...send(every(3)(), true, { ms: MINUTE }).circuit, slots: 1 }
    const options = { ms: MINUTE, from: kept, moved: true }
    expect(part(every(3), options)).toBeGreaterThanOrEqual(0.5)
  })
})

describe('a receiver that fails always is left in peace', () => {
  /** The most tries within any minute. */
  const mostInAMinute = ({ tries }: Run) =>
    Math.max(
      ...tries.map(
        (start, index) => tries.slice(index).findLastIndex((at) => at < start + MINUTE) + 1,
      ),
    )

  test.each([500, 503, null])(
    '(%j): at most eleven tries in its first minute, then few',
    (status) => {
      const run = send(() => true, true, { ms: 30 * MINUTE, status })
      expect(mostInAMinute(run)).toBeLessThanOrEqual(11)
      // Five and what was under way with them; 5 s, 10 s, 20 s, … later a probe each, then every five minutes.
      expect(run.tries.length).toBeLessThanOrEqual(18)
      expect(run.tries.filter((at) => at > 10 * MINUTE).length).toBeLessThanOrEqual(5)
    },
  )

  test.each<[string, () => Fails]>([
    ['well', () => () => false],
    ['badly now and then', every(3)],
    ['badly every second time', byChance(1 / 2, 7)],
  ])('after it has done %s', (_, before) => {
    const good = before()
    const DOWN = 10 * SECOND
    const run = send((index, at) => at >= DOWN || good(index, at), true, { ms: 20 * MINUTE })
    const down = run.tries.filter((at) => at >= DOWN)
    // Sixteen under way and four more that fail in a row, and then three probes.
    expect(mostInAMinute({ ...run, tries: down })).toBeLessThanOrEqual(23)
    expect(down.filter((at) => at > DOWN + 10 * MINUTE).length).toBeLessThanOrEqual(3)
  })

  test('nearly as much where it fails nine times of ten', () => {
    const always = send(byChance(0.9, 4)(), true, { ms: 60 * MINUTE })
    expect(always.tries.length / 60).toBeLessThanOrEqual(23)
  })
})

describe('a receiver that recovers', () => {
  test('is soon sent as much as before', () => {
    const from = send(() => true, true, { ms: 10 * MINUTE }).circuit
    const back = { ...from, pausedUntil: 0 }
    expect(part(() => () => false, { ms: MINUTE, from: back })).toBeGreaterThanOrEqual(0.9)
  })

  test('is taken for one that fails now and then no more than its outage shows', () => {
    const from = { ...send(() => true, true, { ms: 60 * MINUTE }).circuit, pausedUntil: 0 }
    expect(afterSuccess(from, 0).share).toBeLessThan(0.25)
  })
})
