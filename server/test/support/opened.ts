/** Counts the services that the running file opens, for its budget. */
let services = 0

export const countService = (): void => {
  services += 1
}

/** Returns the count and starts over, for the next file in the process. */
export function takeServiceCount(): number {
  const count = services
  services = 0
  return count
}
