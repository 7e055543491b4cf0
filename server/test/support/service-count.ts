/** Counts the services that the current test file opens, to check its limit. */
let services = 0

export const countService = (): void => {
  services += 1
}

/** Returns the count and resets it for the next file in the process. */
export function takeServiceCount(): number {
  const count = services
  services = 0
  return count
}
