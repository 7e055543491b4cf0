type Machine = { platform: string; arch: string }
type Release = { name: string; release: string; integrity: string }
type Fetch = Release & { binary: string }

export const oldestNode: number
export function nodeToFetch(
  present: Machine & { version: string },
): Fetch | { missing: string } | undefined
export function lockOfNode(release: Release): Record<'package.json' | 'package-lock.json', string>
export function stampOf(made: Machine & { lock: string }): string
export function isInstalledAsLocked(trees: Machine & { lock: string; installed: string }): boolean
export function adviceFor(output: string): string
