/** The baseline process's part of the protocol in `baseline.ts`, and the loop in which most baselines work. */

/** Answers each question with the result of `work`. An error ends the process. */
export function answer<Q>(work: (question: Q) => Promise<unknown>): void {
  process.on('message', async (question) => {
    process.send?.((await work(question as Q)) as object)
  })
}

/** Keeps `atOnce` pieces of work running for `seconds`. Returns how many were completed per second. */
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
      // Does not count work that ends after the time is up, like the load generator.
      if (performance.now() <= end) done += 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, (_, number) => lane(number)))
  return done / seconds
}
