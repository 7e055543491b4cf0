/**
 * A worker in a separate process, for the test that kills it: starts a job of the given kind, prints `began <id>`, and
 * never completes the job.
 */
import { systemTime } from '../../src/lib/time.ts'
import { alone } from '../../src/platform/db/index.ts'
import { jobKind, openJobs } from '../../src/platform/jobs/index.ts'
import { silentLog } from './server-address.ts'

const [address = '', name = ''] = process.argv.slice(2)
const jobs = openJobs({
  clock: systemTime,
  address: JSON.parse(address),
  changes: alone,
  log: silentLog,
  works: true,
})
jobs.work(jobKind(name), (_, { id }) => {
  process.stdout.write(`began ${id}\n`)
  return new Promise(() => undefined)
})
await jobs.start()
