/** That nothing proven is there to restore. People have to see to that. */
import type { Clock } from '../../../lib/clock.ts'
import type { Cron } from '../../../lib/cron.ts'
import type { Fix } from '../../../platform/fix.ts'
import { newestProven } from '../schedule/schedule.store.ts'
import { lapse } from '../schedule/watch.ts'
import { beganAt } from './fixes.store.ts'

/** @param cron none where nothing is planned: then there is no interval to miss */
export function unproven(clock: Clock, cron: Cron | undefined): Fix {
  return {
    key: 'backups.unproven',
    title: 'No backup of everything was proven for two intervals',
    description:
      'The newest backup of everything that was read to its end is older than two intervals of ' +
      'BACKUP_SCHEDULE, or there is none: what was done since would be lost with the database.',
    severity: 'critical',
    automatic: false,
    plan:
      'Nothing by itself. `wardkeep backup list` says what failed and why, `wardkeep backup create` makes ' +
      'one now, `wardkeep backup verify ID` proves one that is there.',
    runbook: 'backups.md',
    async detect(tx) {
      if (!cron) return { findings: [], looked_at: 0 }
      const proven = await newestProven(tx)
      const from = proven ?? (await beganAt(tx))
      if (from === null || clock.now() <= lapse(cron, Date.parse(from)))
        return { findings: [], looked_at: 1 }
      const finding = {
        tenant_id: null,
        subject: 'backups of everything',
        measured: { newest_proven: proven },
        expected: { newest_proven: `within two intervals of ${cron.text}` },
        since: new Date(lapse(cron, Date.parse(from))).toISOString(),
      }
      return { findings: [finding], looked_at: 1 }
    },
  }
}
