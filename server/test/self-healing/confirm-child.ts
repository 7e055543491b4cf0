/**
 * A process that confirms the only fix, for the test that kills the process. It repairs the first sore (see sores.ts),
 * prints `half`, and never ends.
 */

import { openSelfHealing } from '../../src/features/self-healing/index.ts'
import { parseCron } from '../../src/lib/cron.ts'
import { systemTime } from '../../src/lib/time.ts'
import { alone, openScopes, ownerClient, watchOutages } from '../../src/platform/db/index.ts'
import { openJobs } from '../../src/platform/jobs/index.ts'
import { openMetrics } from '../../src/platform/observe/metrics.ts'
import { silentLog } from '../support/server-address.ts'
import { ROOT } from './root.ts'
import { soreFix, treat } from './sores.ts'

const address = JSON.parse(process.argv[2] ?? '')
const db = openScopes(address, { clock: systemTime, size: 4, changes: alone, log: silentLog })
let treated = 0
const fix = soreFix({
  async repair(finding, repairing) {
    if (treated === 1) {
      process.stdout.write('half\n')
      return repairing(() => new Promise(() => undefined))
    }
    treated += 1
    return treat(finding, repairing)
  },
})
const healing = await openSelfHealing(
  {
    db,
    clock: systemTime,
    log: silentLog,
    jobs: openJobs({ changes: alone, clock: systemTime, address, log: silentLog, works: false }),
    metrics: openMetrics(() => false, silentLog, systemTime),
    outage: watchOutages(silentLog, systemTime),
    openConnection: () => ownerClient(address),
    config: { SELF_HEALING: 'propose', SELF_HEALING_SCAN: parseCron('*/5 * * * *') },
  },
  [fix],
)
const [proposed] = (await healing.service.list(ROOT)).items
await healing.service.confirm(ROOT, proposed?.id ?? 0)
