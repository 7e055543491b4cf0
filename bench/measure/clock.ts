/** Time as all processes of the machine share it: for spans that begin in one and end in another. */

/** Milliseconds since some point in the past. */
export function sharedMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
