/** Runs overlapping tasks. The next starts as soon as the current one reports where it must continue. */

export interface Pipeline {
  /**
   * Starts a task when fewer than the maximum number are running. Resolves with the value that the task reports. If it
   * reports none, resolves with its result.
   * @throws the first failure of any task, after all running tasks have ended
   */
  begin<T>(work: (report: (value: T) => void) => Promise<T>): Promise<T>
  /** Waits for all running tasks. @throws the first failure of any task */
  end(): Promise<void>
}

/** @param atOnce the maximum number of tasks that run simultaneously */
export function openPipeline(atOnce: number): Pipeline {
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
          // Has no effect if the task has already reported a value.
          end().catch(reject)
        })
        underWay.add(piece)
        void piece.then(() => underWay.delete(piece))
      })
    },
    end,
  }
}
