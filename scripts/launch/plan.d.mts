type Machine = { platform: string; arch: string }
type Fetch = { spec: string; folder: string; binary: string }

export const oldestNode: number
export function nodeToFetch(
  present: Machine & { version: string },
): Fetch | { missing: string } | undefined
export function stampOf(made: Machine & { lock: string }): string
export function isInstalledAsLocked(trees: Machine & { lock: string; installed: string }): boolean
export function adviceFor(output: string): string
