/** Compares two contenders that run by turns, so that whatever else the machine does falls on both. */
import { type Outcome, outcomeOf } from './statistics.ts'

/** Works for about so many seconds, and answers how much it got done a second. */
export type Contender = (seconds: number) => Promise<number>

export interface Pace {
  rounds: number
  /** Length of one turn; scenarios whose single work takes long make it longer. */
  seconds: number
  /** Of what a scenario does once, whatever its turns; 1 for all of it. */
  share: number
}

const WARM_UP_S = 1

export async function compare(ours: Contender, baseline: Contender, pace: Pace): Promise<Outcome> {
  const rounds: { ours: number; baseline: number }[] = []
  // Code is compiled and caches are filled before anything counts.
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
