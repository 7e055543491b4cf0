/** Folders that are removed with the test. */
import { chmod, rm } from 'node:fs/promises'
import { atTheEnd } from './cleanup.ts'
import { clusterFolder } from './folders.ts'
import { isRoot, nobodyLeft } from './processes.ts'

/** Creates a folder for a cluster. It is removed with the test or its file, after all its processes have ended. */
export async function scratch(): Promise<string> {
  const path = await clusterFolder('wardkeep-test-')
  if (isRoot) await chmod(path, 0o711)
  atTheEnd(async () => {
    await nobodyLeft(path)
    await rm(path, { recursive: true, force: true })
  })
  return path
}
