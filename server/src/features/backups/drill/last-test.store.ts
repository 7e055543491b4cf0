/** The SQL that finds the last test restore of a backup in the journal. */
import { type RawBuilder, sql } from 'kysely'
import { resourceHash } from '../../../platform/journal/index.ts'
import '../backups.table.ts'

/**
 * Selects a value of the journal entry `test` of a backup's last test restore. Selects null if the backup's present file
 * was never restored in a test, or if the entry was archived.
 */
const ofLastTest = <V>(
  value: RawBuilder<V>,
) => sql<V | null>`case when drill_seconds is not null then (
  select ${value} from journal test
  where test.action = 'backup.verified' and test.resource_type = 'backup'
    and test.resource_hash = ${resourceHash(sql`backups.id::text`)}
    and test.resource_id = backups.id::text and test.changes ? 'drill_seconds'
    and test.created_at >= coalesce(backups.rewritten_at, backups.created_at)
  order by test.created_at desc, test.id desc limit 1) end`

export const TESTED_AT = ofLastTest(sql<string>`test.created_at`).as('tested_at')

/** The columns that describe the last test restore of a backup. */
export const LAST_TEST = [
  TESTED_AT,
  ofLastTest(sql<number>`test.user_id`).as('tested_by'),
  ofLastTest(
    sql<string>`coalesce((select full_name from users where users.id = test.user_id), test.user_email)`,
  ).as('tested_by_name'),
  ofLastTest(sql<number>`(test.changes ->> 'records')::bigint`).as('tested_records'),
] as const
