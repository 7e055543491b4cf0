/**
 * Schedules work with limited concurrency, round robin by group, and by party within a group. A long queue of one group
 * delays each other group by at most one piece, even if one person controls many of its parties. While several groups
 * are active, none of them occupies all turns.
 */
import { SECOND } from '../../lib/clock.ts'
import { Problem } from '../../lib/problems.ts'
import type { Time } from '../../lib/time.ts'

/** How long a group counts as active after its last request. */
const COMPANY_MS = 10 * SECOND
/** The maximum wait of a low-priority group. After that it takes its turn like the others. */
const PATIENCE_MS = SECOND

export interface TurnLimits {
  atOnce: number
  waitingOfOne: number
  waitingOfGroup: number
  /** Maximum number of waiting pieces in total. A group without waiting pieces may add one above this limit. */
  waiting: number
  /** Maps a party to its group: all parties that one person may control. By default each party is its own group. */
  groupOf?: (party: string) => string
  /**
   * Returns true if a group has low priority while others are active. Its work then starts after theirs, uses less than
   * half of the turns, and pauses after each piece for as long as the piece took.
   */
  givesWay?: (group: string) => boolean
  clock: Pick<Time, 'monotonic' | 'after'>
}

/** Runs `work` when the party's turn comes. @throws Problem 503 when too many pieces are waiting */
export type FairTurns = <T>(party: string, work: () => Promise<T>) => Promise<T>

export function fairTurns(limits: TurnLimits): FairTurns {
  const { atOnce, groupOf = (party: string) => party, givesWay = () => false, clock } = limits
  const company = companyWithin(COMPANY_MS, clock)
  const running = new Map<string, number>()
  let runningInAll = 0
  const waiting = waitingTurns(limits)
  /** The number of unfinished pauses per group. */
  const resting = new Map<string, number>()

  function isLater(group: string): boolean {
    return givesWay(group) && company.has(group) && waiting.waited(group) < PATIENCE_MS
  }

  function mayRun(group: string): boolean {
    if (isLater(group) && (resting.has(group) || runningInAll >= Math.max(1, atOnce / 2)))
      return false
    const ofOne = company.has(group) ? Math.max(1, atOnce - 1) : atOnce
    return runningInAll < atOnce && (running.get(group) ?? 0) < ofOne
  }

  function rest(group: string, ms: number): void {
    resting.set(group, (resting.get(group) ?? 0) + 1)
    clock.after(ms, () => {
      takeOne(resting, group)
      serve()
    })
  }

  function begin(group: string): void {
    runningInAll += 1
    running.set(group, (running.get(group) ?? 0) + 1)
  }

  function end(group: string): void {
    runningInAll -= 1
    takeOne(running, group)
  }

  /** Starts all waiting work that may run now. Each group gets one turn before any group gets a second one. */
  function serve(): void {
    for (const later of [false, true])
      for (const group of waiting.groups()) {
        if (isLater(group) !== later || !mayRun(group)) continue
        begin(group)
        waiting.start(group)
      }
  }

  return async (party, work) => {
    const group = groupOf(party)
    company.saw(group)
    if (mayRun(group) && !waiting.has(group)) begin(group)
    else {
      const turn = waiting.wait(group, party)
      serve()
      await turn
    }
    const begun = clock.monotonic()
    try {
      return await work()
    } finally {
      end(group)
      if (isLater(group)) rest(group, clock.monotonic() - begun)
      serve()
    }
  }
}

/** Decrements a group's count, and removes the group when the count reaches zero. */
function takeOne(counts: Map<string, number>, group: string): void {
  const left = (counts.get(group) ?? 0) - 1
  if (left > 0) counts.set(group, left)
  else counts.delete(group)
}

/** Creates the queue of waiting work. A group moves to the end of the queue when one of its pieces starts. */
function waitingTurns({ waitingOfOne, waitingOfGroup, waiting, clock }: TurnLimits) {
  interface Group {
    queued: number
    /** When the group started to wait or last started a piece, in monotonic milliseconds. */
    since: number
    parties: Map<string, (() => void)[]>
  }
  const groups = new Map<string, Group>()
  let queued = 0
  return {
    has: (group: string) => groups.has(group),
    /** Returns how long the group has waited since its last start, in milliseconds. */
    waited(name: string): number {
      const now = clock.monotonic()
      return now - (groups.get(name)?.since ?? now)
    },
    groups: () => groups.keys(),
    wait(name: string, party: string): Promise<void> {
      const since = clock.monotonic()
      const group = groups.get(name) ?? { queued: 0, since, parties: new Map() }
      const queue = group.parties.get(party) ?? []
      const isFull = queued >= waiting && group.queued > 0
      if (isFull || group.queued >= waitingOfGroup || queue.length >= waitingOfOne)
        throw new Problem('overloaded', { retryAfter: 2 })
      queued += 1
      group.queued += 1
      groups.set(name, group)
      group.parties.set(party, queue)
      return new Promise((resolve) => queue.push(resolve))
    },
    /** Starts the first piece of the party that is next within the group. */
    start(name: string): void {
      const group = groups.get(name)
      const [first] = group?.parties ?? []
      if (!group || !first) return
      const [party, queue] = first
      queued -= 1
      group.queued -= 1
      group.since = clock.monotonic()
      groups.delete(name)
      group.parties.delete(party)
      const start = queue.shift()
      if (queue.length > 0) group.parties.set(party, queue)
      if (group.queued > 0) groups.set(name, group)
      start?.()
    },
  }
}

/** Stores the last party and the last other party, which suffice to decide whether another party was active. */
function companyWithin(ms: number, clock: TurnLimits['clock']) {
  let last = { party: '', at: Number.NEGATIVE_INFINITY }
  let other = last
  return {
    saw(party: string): void {
      if (party !== last.party) other = last
      last = { party, at: clock.monotonic() }
    },
    /** Returns true if a party other than this one was active within `ms`. */
    has(party: string): boolean {
      const { at } = party === last.party ? other : last
      return clock.monotonic() - at < ms
    },
  }
}
