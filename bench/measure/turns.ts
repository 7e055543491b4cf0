/** Compares tasks that run once per turn, such as a backup: which is faster, and by how much. */
import { median } from './statistics.ts'

/** Runs the task once. Returns the seconds it took. */
export type Work = () => Promise<number>

/** The seconds of each task, by round. */
export type Rounds<K extends string> = Record<K, number>[]

/** Runs each task once per round, in an order that is reversed from one round to the next. */
export async function byTurns<K extends string>(
  works: Record<K, Work>,
  rounds: number,
): Promise<Rounds<K>> {
  const names = Object.keys(works) as K[]
  const done: Rounds<K> = []
  for (let round = 0; round < rounds; round += 1) {
    const took: Partial<Record<K, number>> = {}
    for (const name of round % 2 === 0 ? names : names.toReversed())
      took[name] = await works[name]()
    done.push(took as Record<K, number>)
  }
  return done
}

/** Returns how many times as fast as `other` a task was: the median of the rounds' ratios. */
export const timesAsFast = <K extends string>(rounds: Rounds<K>, work: K, other: K): number =>
  median(rounds.map((took) => took[other] / took[work]))
