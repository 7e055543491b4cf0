import type { Time } from './time.ts'

/** Returns whether the work has ended within `ms`. Throws the error of the work. After a timeout the work continues. */
export async function within(
  clock: Pick<Time, 'after'>,
  ms: number,
  work: Promise<unknown>,
): Promise<boolean> {
  const late = Promise.withResolvers<false>()
  const cancel = clock.after(ms, () => late.resolve(false))
  try {
    return await Promise.race([work.then(() => true), late.promise])
  } finally {
    cancel()
  }
}
