/**
 * A worker of its own process, for the test that kills it: begins a job of the kind named, says
 * `began <id>`, and never ends it.
 */
import { systemTime } from '../../src/lib/time.ts'
import { jobKind, openJobs } from '../../src/platform/jobs/index.ts'
import { silentLog } from './server-address.ts'

const [address = '', name = ''] = process.argv.slice(2)
const jobs = openJobs({
  clock: systemTime,
  address: JSON.parse(address),
  log: silentLog,
  works: true,
})
jobs.work(jobKind(name), (_, { id }) => {
  process.stdout.write(`began ${id}\n`)
  return new Promise(() => undefined)
})
await jobs.start()
