/** Runs before each test file. Several files may share a process. */
import { afterAll, vi } from 'vitest'
import { endFile } from './at-the-end.ts'
import { takeServiceCount } from './opened.ts'
import { recordStatements } from './record-statements.ts'

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
