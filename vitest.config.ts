/** The test run: three projects, by what a test file needs. CONTRIBUTING.md describes them. */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import ByProject from './scripts/by-project.ts'
import { testFiles } from './scripts/test-kinds.ts'

const files = testFiles(import.meta.dirname)

/** Set by `npm run chaos`: the fault tests run at full length, one at a time, as each keeps the machine busy. */
const isChaos = process.env.CHAOS === 'full'

const common = {
  setupFiles: ['server/test/support/each-file.ts'],
  // Limits for what hangs: beside other work a test may take many times as long as alone.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  unstubGlobals: true,
  // A test reads the design tokens. Other style sheets stay empty.
  css: { include: [/tokens\.css/] },
  expect: { poll: { timeout: 60_000 } },
  // Tests wait for most of their time: three on two processors take half the time of one.
  maxWorkers: isChaos ? 1 : Math.max(3, availableParallelism()),
}

export default defineConfig({
  test: {
    globalSetup: ['server/test/support/global-setup.ts'],
    provide: { chaos: isChaos ? 'full' : 'short' },
    reporters: ['default', './scripts/slowest.ts'],
    sequence: { sequencer: ByProject },
    projects: [
      { test: { ...common, name: 'process', include: files.process, pool: 'forks' } },
      {
        test: { ...common, name: 'service', include: files.service, pool: 'forks', isolate: false },
      },
      { test: { ...common, name: 'unit', include: files.unit, pool: 'threads', isolate: false } },
    ],
  },
})
