/** Thrown if the database has not responded in time. */
export class DatabaseTimeout extends Error {
  override name = 'DatabaseTimeout'
}

/** Returns the result of the promise. @throws DatabaseTimeout if the promise takes longer than `ms` */
export async function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DatabaseTimeout('no response in time')), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
