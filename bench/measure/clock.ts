/** A clock that all processes of the machine share, for durations that start in one process and end in another. */

/** Returns milliseconds since a fixed but arbitrary point in the past. */
export function sharedMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
