/** The faults that backups can find in themselves. */
import type { Cron } from '../../../lib/cron.ts'
import type { Time } from '../../../lib/time.ts'
import type { Fix } from '../../../platform/fix.ts'
import type { AdoptDeps } from '../commands/adopt.ts'
import type { BuryDeps } from '../work/worker.ts'
import { orphans } from './orphans.ts'
import { stuck } from './stuck.ts'
import { unproven } from './unproven.ts'
import { DAMAGED, missing, UNREADABLE } from './unusable.ts'

export interface FixDeps extends AdoptDeps, BuryDeps {
  clock: Time
  cron: Cron | undefined
}

export const backupFixes = (deps: FixDeps): readonly Fix[] => [
  missing(deps),
  DAMAGED,
  UNREADABLE,
  orphans(deps),
  unproven(deps.clock, deps.cron),
  stuck(deps),
]
