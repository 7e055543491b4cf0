/**
 * Shares out turns at work of which only so much may run at once: those who wait are served round
 * robin, one piece of each group of parties, and within a group of each party, so that nobody's queue
 * delays anybody else by more than one piece, however many parties one hand may be. And no group runs on
 * all turns while others come: who comes next finds one free, and a processor for it.
 */
import { SECOND } from '../../lib/clock.ts'
import { Problem } from '../../lib/problems.ts'
import type { Time } from '../../lib/time.ts'

/** Who has come within this time is thought to come again. */
const COMPANY_MS = 10 * SECOND
/** A group that gives way does so for this long, and then takes its turn as the others do. */
const PATIENCE_MS = SECOND

export interface TurnLimits {
  /** Pieces of work that run side by side. */
  atOnce: number
  /** Pieces that may wait, of one party. */
  waitingOfOne: number
  /** Pieces that may wait, of all parties of one group. */
  waitingOfGroup: number
  /** Pieces that may wait in all; a group that has none waiting is let in beyond it. */
  waiting: number
  /** The group of parties that may be one hand's; each party's own by default. */
  groupOf?: (party: string) => string
  /**
   * Whether a group gives way while others come: its pieces begin after those of others and while less than half of
   * the turns is used, and it rests after each for as long as it took. No group does by default.
   */
  givesWay?: (group: string) => boolean
  clock: Pick<Time, 'monotonic' | 'after'>
}

/** @throws Problem 503 when too many of the party, of its group, or of all, are waiting */
export type FairTurns = <T>(party: string, work: () => Promise<T>) => Promise<T>

export function fairTurns(limits: TurnLimits): FairTurns {
  const { atOnce, groupOf = (party: string) => party, givesWay = () => false, clock } = limits
  const company = companyWithin(COMPANY_MS, clock)
  const running = new Map<string, number>()
  let runningInAll = 0
  const waiting = waitingTurns(limits)
  /** How many rests of a group have not ended. */
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

  /** Starts those who wait and may run by now, the first piece of each group by turns. */
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

/** Takes one from the count of a group, and the group from the counts where none is left. */
function takeOne(counts: Map<string, number>, group: string): void {
  const left = (counts.get(group) ?? 0) - 1
  if (left > 0) counts.set(group, left)
  else counts.delete(group)
}

/** Who waits, in the order of the turns: whoever was served and still waits goes to the end. */
function waitingTurns({ waitingOfOne, waitingOfGroup, waiting, clock }: TurnLimits) {
  interface Group {
    queued: number
    /** When its first piece came that waits, or its last one began. */
    since: number
    parties: Map<string, (() => void)[]>
  }
  const groups = new Map<string, Group>()
  let queued = 0
  return {
    has: (group: string) => groups.has(group),
    /** For how long the group has waited, in milliseconds. */
    waited(name: string): number {
      const now = clock.monotonic()
      return now - (groups.get(name)?.since ?? now)
    },
    /** The groups; one that goes to the end meanwhile comes by again. */
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
    /** Starts the first piece of the group's first party. */
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

/** Who came last, and last of all others: enough to tell whether anybody has come beside one party. */
function companyWithin(ms: number, clock: TurnLimits['clock']) {
  let last = { party: '', at: Number.NEGATIVE_INFINITY }
  let other = last
  return {
    saw(party: string): void {
      if (party !== last.party) other = last
      last = { party, at: clock.monotonic() }
    },
    /** Whether another party has come lately. */
    has(party: string): boolean {
      const { at } = party === last.party ? other : last
      return clock.monotonic() - at < ms
    },
  }
}
