/** Runs at full length the fault tests that `npm test` runs in a short form. */
import { parseCLI, startVitest } from 'vitest/node'

const { filter, options } = parseCLI([
  'vitest',
  'run',
  'server/test/faults/service-killed.test.ts',
  'server/test/faults/webhooks/',
  'server/test/encryption/killed.test.ts',
  'server/test/self-healing/quiet.test.ts',
  ...process.argv.slice(2),
])
// One at a time: each keeps the machine busy by itself.
const overrides = { ...options, maxWorkers: 1, provide: { chaos: 'full' } }
const vitest = await startVitest('test', filter, overrides)
await vitest.close()
