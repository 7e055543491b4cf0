/** The test run: every package in one project, each file in a process of its own. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{server,client,bench,scripts}/**/*.test.ts'],
    // Processes, not threads: a crash in native code (argon2) or a kill test stays in its own file.
    pool: 'forks',
    globalSetup: ['server/test/support/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
