/** The test run: every package in one project, each file in a process of its own, some at a time. */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{server,client,bench,scripts}/**/*.test.ts'],
    // Processes, not threads: a crash in native code (argon2) or a kill test stays in its own file.
    pool: 'forks',
    // Most of a file's time is waited for: three on two processors take half the time of one.
    maxWorkers: Math.max(3, availableParallelism()),
    globalSetup: ['server/test/support/global-setup.ts'],
    setupFiles: ['server/test/support/each-file.ts'],
    provide: { chaos: 'short' },
    reporters: ['default', './scripts/slowest.ts'],
    // A limit for what hangs: beside other work all of it may take many times as long as alone.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
})
