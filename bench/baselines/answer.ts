/** The baseline's side of `baseline.ts`, and the loop that most baselines work in. */

/** Answers each question with what `work` makes of it; an error ends the process. */
export function answer<Q>(work: (question: Q) => Promise<unknown>): void {
  process.on('message', async (question) => {
    process.send?.((await work(question as Q)) as object)
  })
}

/** Keeps `atOnce` pieces of work going for `seconds`; returns how many were done a second. */
export async function keepBusy(
  atOnce: number,
  seconds: number,
  work: (lane: number) => Promise<unknown>,
): Promise<number> {
  const start = performance.now()
  const end = start + seconds * 1000
  let done = 0
  const lane = async (number: number) => {
    while (performance.now() < end) {
      await work(number)
      // What ends after the time is up is not counted, as the load generator does not either.
      if (performance.now() <= end) done += 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, (_, number) => lane(number)))
  return done / seconds
}
