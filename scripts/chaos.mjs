/** Runs the fault tests at full length, which `npm test` runs in a short form. */
import { parseCLI, startVitest } from 'vitest/node'

const { filter, options } = parseCLI([
  'vitest',
  'run',
  'server/test/faults/service-killed.test.ts',
  'server/test/faults/webhooks/',
  'server/test/encryption/rotation-killed.test.ts',
  'server/test/self-healing/false-alarms.test.ts',
  ...process.argv.slice(2),
])
process.env.CHAOS = 'full'
const vitest = await startVitest('test', filter, options)
await vitest.close()
