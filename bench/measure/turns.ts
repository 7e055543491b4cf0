/** Works of which each is done once a turn, such as a backup: who is quicker, and by how much. */
import { median } from './statistics.ts'

/** Does its work once, and answers the seconds that it took. */
export type Work = () => Promise<number>

/** The seconds of each work, round by round. */
export type Rounds<K extends string> = Record<K, number>[]

/** Each work once a round, in an order that turns around from one to the next. */
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

/** How many times as fast as `other` a work was: the median of the rounds' own ratios. */
export const timesAsFast = <K extends string>(rounds: Rounds<K>, work: K, other: K): number =>
  median(rounds.map((took) => took[other] / took[work]))
