/** Runs before each test file. Several files may share a process. */
import { afterAll, vi } from 'vitest'
import { endFile } from './cleanup.ts'
import { recordStatements } from './record-statements.ts'
import { takeServiceCount } from './service-count.ts'

recordStatements()
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern that no fixture is wanted.
afterAll(async ({}, file) => {
  file.meta.services = takeServiceCount()
  // The next file in the process starts with the real globals.
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  vi.useRealTimers()
  await endFile()
})
