/** Schedules the removal of entries that are past their retention, and reports failures to the health check. */
import { resolve } from 'node:path'
import { MINUTE } from '../../../lib/clock.ts'
import type { ComponentHealth } from '../../../platform/feature/feature.ts'
import type { OutboundHold } from '../../../platform/hold/hold.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import type { Upkeep } from '../../../platform/lifecycle/upkeep.ts'
import { type PruneDeps, pruneLogs } from './prune.ts'
import { findFailures, type PruneFailures } from './retention.store.ts'

const PRUNE = jobKind<Record<string, never>>('audit.prune', { expireInSeconds: 6 * 3600 })

/** Every night. */
const CRON = '47 2 * * *'

/** Returns the folder of the archives. @param config the configured folder, and the folder of the service's data */
export const archiveFolder = (config: {
  AUDIT_ARCHIVE_DIR: string | undefined
  DATA_DIR: string
}): string => resolve(config.AUDIT_ARCHIVE_DIR ?? `${config.DATA_DIR}/audit-archive`)

export interface AuditRetention {
  check(): ComponentHealth
  readonly upkeep: Upkeep
}

/**
 * Schedules the removal every night, on one node. A restored copy removes nothing until it is released, because the
 * retention of its original may have changed.
 */
export function schedulesRetention({
  jobs,
  hold,
  ...deps
}: PruneDeps & { jobs: Jobs; hold: OutboundHold }): AuditRetention {
  const { db } = deps
  let failures: PruneFailures | undefined
  const refresh = async () => {
    failures = await db.acrossTenants(findFailures, 'read')
  }
  jobs.schedule(PRUNE, CRON)
  const work = (_: object, { signal }: { signal: AbortSignal }) => pruneLogs(deps, signal)
  jobs.work(PRUNE, work, { when: hold.whenReleased })
  return {
    check() {
      if (!failures) return { state: 'ok' }
      const { count, failure, since } = failures
      return {
        state: 'degraded',
        reason: `Entries past their retention were not removed (audit logs: ${count}). ${failure}`,
        since,
        runbook: 'audit-retention.md',
      }
    },
    upkeep: {
      what: 'audit retention health check',
      everyMs: MINUTE,
      isNeededToServe: false,
      run: refresh,
    },
  }
}
