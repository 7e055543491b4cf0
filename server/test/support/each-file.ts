/** Runs before each test file, which may share its process with others. */
import { afterAll, vi } from 'vitest'
import { endFile } from './at-the-end.ts'
import { takeServiceCount } from './opened.ts'
import { recordStatements } from './record-statements.ts'

recordStatements()
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern that no fixture is wanted.
afterAll(async ({}, file) => {
  file.meta.services = takeServiceCount()
  // The next file in the process starts with the real ones.
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  vi.useRealTimers()
  await endFile()
})
