/** Where the clusters of tests lie. */
import { statfsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const ROOM = 4 * 2 ** 30 // bytes that the clusters of a few files at once do not fill

/**
 * Makes a folder for a cluster, 0700, named by the prefix: in memory where 4 GiB are free, else in /tmp.
 * Each test's database is a thousand files that are made and removed again, for which a disk's file
 * system takes a third of the whole run.
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
