/** Pieces of work that overlap: one may begin as soon as the one before it tells where to go on. */

export interface Lanes {
  /**
   * Begins a piece of work once there is room for it. Resolves with what it tells as soon as it does, or
   * with its end where it tells nothing.
   * @throws what any piece has failed with, behind the end of all that are under way
   */
  begin<T>(work: (tell: (told: T) => void) => Promise<T>): Promise<T>
  /** Waits for all that are under way. @throws what any of them has failed with */
  end(): Promise<void>
}

/** @param atOnce pieces under way at the most */
export function openLanes(atOnce: number): Lanes {
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []

  async function end(): Promise<void> {
    await Promise.all(underWay)
    if (failures.length > 0) throw failures[0]
  }

  return {
    async begin(work) {
      while (underWay.size >= atOnce) await Promise.race(underWay)
      if (failures.length > 0) await end()
      return new Promise((resolve, reject) => {
        const piece = work(resolve).then(resolve, (error: unknown) => {
          failures.push(error)
          // Of use where it had told nothing yet.
          end().catch(reject)
        })
        underWay.add(piece)
        void piece.then(() => underWay.delete(piece))
      })
    },
    end,
  }
}
