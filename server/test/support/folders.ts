/** Chooses the location of test clusters. */
import { statfsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const ROOM = 4 * 2 ** 30 // bytes, enough for the clusters of a few files at once

/**
 * Creates a folder with mode 0700 for a cluster, with the prefix in its name. Uses memory if 4 GiB are free, and /tmp
 * otherwise. Each test database creates and removes a thousand files, which on a disk would take a third of the whole
 * run.
 */
export function clusterFolder(prefix: string): Promise<string> {
  return mkdtemp(join(hasRoom() ? MEMORY : '/tmp', prefix))
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM
  } catch {
    return false
  }
}
