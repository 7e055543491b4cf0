/** Chooses the location of test clusters. */
import { statfsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const ROOM = 4 * 2 ** 30 // bytes, enough for the clusters of a few files at once

/**
 * Creates a folder for a cluster, 0700, named by the prefix: in memory if 4 GiB are free, else in /tmp. Each test's
 * database is a thousand files that are created and removed, which takes a file system on disk a third of the whole
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
