/** `npm run bench`: seeds, measures, and prints one line per scenario beside its limit or baseline. */
import { parseArgs } from 'node:util'
import { openEnvironment } from './environment.ts'
import type { Line } from './measure/table.ts'
import { tableOf } from './measure/table.ts'
import { auditCommands } from './scenarios/audit-commands.ts'
import { auditLog, auditProofs } from './scenarios/audit-log.ts'
import { backups } from './scenarios/backups.ts'
import { baselines } from './scenarios/baselines.ts'
import { distantStandby } from './scenarios/distant-standby.ts'
import { entries } from './scenarios/entries.ts'
import { flakyReceiver } from './scenarios/flaky-receiver.ts'
import { flood } from './scenarios/flood.ts'
import { messenger, messengerFlood } from './scenarios/messenger.ts'
import { patientCache } from './scenarios/patient-cache.ts'
import { patientLists } from './scenarios/patient-lists.ts'
import { payments } from './scenarios/payments.ts'
import { profile } from './scenarios/profile.ts'
import { readEntries } from './scenarios/read-entries.ts'
import { refreshes } from './scenarios/refreshes.ts'
import { rotation } from './scenarios/rotation.ts'
import type { Scenario } from './scenarios/scenario.ts'
import { secondLevel } from './scenarios/second-level.ts'
import { selfHealing } from './scenarios/self-healing.ts'
import { siem } from './scenarios/siem.ts'
import { signIns } from './scenarios/sign-ins.ts'
import { auditSizes, paymentSizes, userSizes } from './scenarios/sizes.ts'
import { stalledProvider } from './scenarios/stalled-provider.ts'
import { starts } from './scenarios/starts.ts'
import { stats } from './scenarios/stats.ts'
import { users } from './scenarios/users.ts'
import { webhooks } from './scenarios/webhooks.ts'
import { webhooksBesideReads } from './scenarios/webhooks-beside-reads.ts'
import { FULL, QUICK } from './seed/sizes.ts'

const SCENARIOS: Record<string, Scenario> = {
  starts,
  profile,
  users,
  'user-sizes': userSizes,
  'audit-sizes': auditSizes,
  'sign-ins': signIns,
  refreshes,
  entries,
  'audit-log': auditLog,
  'audit-proofs': auditProofs,
  'audit-commands': auditCommands,
  siem,
  stats,
  webhooks,
  payments,
  'payment-sizes': paymentSizes,
  'patient-cache': patientCache,
  'patient-lists': patientLists,
  'read-entries': readEntries,
  'webhooks-beside-reads': webhooksBesideReads,
  rotation,
  backups,
  'distant-standby': distantStandby,
  'self-healing': selfHealing,
  'flaky-receiver': flakyReceiver,
  flood,
  'stalled-provider': stalledProvider,
  messenger,
  'messenger-flood': messengerFlood,
}

/** Scenarios that run only when named: they install or contact software that is not part of the product. */
const ON_DEMAND: Record<string, Scenario> = { baselines, 'second-level': secondLevel }
const ALL = { ...SCENARIOS, ...ON_DEMAND }

const USAGE = `npm run bench -- [--quick] [--data <folder>] [scenario…]

  --quick          a twentieth of the data and short turns: to try it out
  --data <folder>  keep the seeded databases there, and use those that are
  scenarios        ${Object.keys(SCENARIOS).join(', ')}; without any: all of these
  on demand        ${Object.keys(ON_DEMAND).join(', ')}`

async function run(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      data: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const chosen = positionals.length > 0 ? positionals : Object.keys(SCENARIOS)
  const unknown = chosen.filter((name) => !Object.hasOwn(ALL, name))
  if (values.help || unknown.length > 0) {
    if (unknown.length > 0) process.exitCode = 1
    return console.log(USAGE)
  }
  const started = performance.now()
  const say = (what: string) =>
    console.error(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${what}`)
  const pace = values.quick
    ? { rounds: 1, seconds: 1, share: 1 / 20 }
    : { rounds: 3, seconds: 2, share: 1 }
  const environment = await openEnvironment(values.quick ? QUICK : FULL, values.data, say)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void environment.close().finally(() => process.exit(130)))
  const lines: Line[] = []
  try {
    for (const name of chosen) {
      say(name)
      lines.push(...((await ALL[name]?.(environment, pace, say)) ?? []))
    }
  } finally {
    // Prints the results so far even if a run fails.
    console.log(tableOf(lines))
    await environment.close()
  }
}

await run()
