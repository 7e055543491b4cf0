/** Self-healing checks for the backups feature. */
import type { Time } from '../../../lib/time.ts'
import type { Fix } from '../../../platform/feature/fix.ts'
import type { AdoptDeps } from '../operator/adopt.ts'
import { orphans } from './orphans.ts'
import { DAMAGED, missing } from './unusable.ts'

type FixDeps = AdoptDeps & { clock: Time }

export const backupFixes = (deps: FixDeps): readonly Fix[] => [
  missing(deps),
  DAMAGED,
  orphans(deps),
]
