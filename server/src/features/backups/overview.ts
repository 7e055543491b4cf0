/** The parts of the overview that describe backups. */
import Type from 'typebox'
import { DAY } from '../../lib/clock.ts'
import { Id, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { type OverviewParts, overviewPart } from '../../platform/feature/feature.ts'
import { JOB_KINDS } from './backups.table.ts'
import type { BackupHealth } from './health.ts'
import { findFailedJobs } from './overview.store.ts'

const RECENT_MS = 7 * DAY
/** The maximum number of failed jobs in the list. */
const MAX_NAMED = 3

/** @param freshness returns the newest verified backup, as polled within the last 15 seconds */
export const backupsAttention = (freshness: BackupHealth['freshness']): OverviewParts => ({
  backups: overviewPart({
    schema: Type.Object(
      {
        created_at: Nullable(Timestamp, {
          description: 'When the backup was created. Null while no backup is verified.',
        }),
        verified_at: Nullable(Timestamp, {
          description: 'When the file was last verified.',
        }),
        drill_seconds: Nullable(
          Type.Number({
            description: 'Duration of the last test restore in seconds. Null before the first one.',
            examples: [41.2],
          }),
        ),
        tested_at: Nullable(Timestamp, {
          description:
            'When the last test restore ended. Null if there was none, or if it is too old.',
        }),
        is_scheduled: Type.Boolean({
          description: 'Whether backups are scheduled.',
          examples: [true],
        }),
        is_late: Type.Boolean({
          description:
            'Whether two intervals of the schedule have passed without a newer verified backup.',
          examples: [false],
        }),
      },
      { description: 'The newest verified backup of the whole installation.' },
    ),
    read: async () => freshness(),
  }),
  backup_jobs: overviewPart({
    schema: Type.Object(
      {
        count: Type.Integer({ minimum: 0, examples: [1] }),
        items: Type.Array(
          Type.Object({
            job_id: Type.String({
              format: 'uuid',
              examples: ['0b6e1a52-7c1d-4f0e-9d53-2f5a8e1c9b7d'],
            }),
            tenant_id: Nullable(Id, { description: 'Null for jobs of the whole installation.' }),
            kind: OneOf(JOB_KINDS),
            failed_at: Timestamp,
          }),
          { description: 'The latest three jobs.' },
        ),
      },
      {
        description:
          'The jobs that failed within seven days and were not followed by a completed job of the same kind.',
      },
    ),
    isOfInstallation: true,
    async read(tx, { tenantId, now }) {
      const after = new Date(Date.parse(now) - RECENT_MS).toISOString()
      const failed = await findFailedJobs(tx, { tenantId, after, limit: MAX_NAMED })
      return {
        count: failed[0]?.count ?? 0,
        items: failed.map(({ count: _, ...job }) => job),
      }
    },
  }),
})
