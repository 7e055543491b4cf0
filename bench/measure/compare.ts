/** Compares two contenders that run in turn, so that other work on the machine affects both. */
import { type Outcome, outcomeOf } from './statistics.ts'

/** Works for about this many seconds. Returns the completed work per second. */
export type Contender = (seconds: number) => Promise<number>

export interface Pace {
  rounds: number
  /** The length of one turn in seconds. Scenarios with long single steps multiply it. */
  seconds: number
  /** The share to do of the work that a scenario does once, regardless of turns; 1 for all of it. */
  share: number
}

const WARM_UP_S = 1

export async function compare(ours: Contender, baseline: Contender, pace: Pace): Promise<Outcome> {
  const rounds: { ours: number; baseline: number }[] = []
  // Compiles code and fills caches before anything is measured.
  await ours(WARM_UP_S)
  await baseline(WARM_UP_S)
  for (let round = 0; round < pace.rounds; round += 1) {
    const oursFirst = round % 2 === 0
    const first = await (oursFirst ? ours : baseline)(pace.seconds)
    const second = await (oursFirst ? baseline : ours)(pace.seconds)
    rounds.push(oursFirst ? { ours: first, baseline: second } : { ours: second, baseline: first })
  }
  return outcomeOf(rounds)
}
