/** The test run: three projects, by what a test file needs. CONTRIBUTING.md describes them. */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { testFiles } from './scripts/test-kinds.ts'

const files = testFiles(import.meta.dirname)

/** Tests wait for most of their time: three on two processors take half the time of one. */
const SIDE_BY_SIDE = Math.max(3, availableParallelism())

const common = {
  setupFiles: ['server/test/support/each-file.ts'],
  // Limits for what hangs: beside other work a test may take many times as long as alone.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  unstubGlobals: true,
  expect: { poll: { timeout: 60_000 } },
}

export default defineConfig({
  test: {
    globalSetup: ['server/test/support/global-setup.ts'],
    provide: { chaos: 'short' },
    reporters: ['default', './scripts/slowest.ts'],
    maxWorkers: SIDE_BY_SIDE,
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          include: files.unit,
          pool: 'threads',
          isolate: false,
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...common,
          name: 'service',
          include: files.service,
          pool: 'forks',
          isolate: false,
          maxWorkers: SIDE_BY_SIDE,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...common,
          name: 'process',
          include: files.process,
          pool: 'forks',
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
