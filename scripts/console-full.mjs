/** Runs the browser tests of the console in every theme and width. `npm test` runs them in two combinations. */
import { parseCLI, startVitest } from 'vitest/node'

const { filter, options } = parseCLI([
  'vitest',
  'run',
  'server/test/console/',
  ...process.argv.slice(2),
])
process.env.CONSOLE_LOOKS = 'all'
const vitest = await startVitest('test', filter, options)
await vitest.close()
