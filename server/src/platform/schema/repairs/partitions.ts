/** Repairs missing partitions. The schema dump omits partitions, because they depend on the date. */
import { sql } from 'kysely'
import type { TenantTx } from '../../db/transaction.ts'
import type { Finding, Fix } from '../../feature/fix.ts'
import { askIn, type Ground, RUNBOOK, type Words } from './ground.ts'

const WORDS: Words = {
  key: 'database.partitions',
  title: 'Partitions of the journal or of deliveries are missing',
  description:
    'The journal has no partition for this month or the next, or deliveries have no partition for today or tomorrow. From that day on, changes cannot be journaled or webhooks cannot be sent. Each node creates partitions in advance and logs failures.',
  severity: 'high',
  plan: 'Creates the partitions, as each node does on startup and every few hours.',
  runbook: RUNBOOK,
}

/**
 * Selects the required partitions. The nodes create further ones in advance, so a creation that is slightly late is not
 * a fault.
 */
const NEEDED = `
  with today as (select (now() at time zone 'UTC')::date as day),
  needed as (
    select parent, parent
      || to_char(date_trunc('month', day::timestamp) + make_interval(months => ahead), '_YYYY_MM') as part
    from today, unnest('{journal,journal_resources}'::text[]) parent, generate_series(0, 1) ahead
    union all
    select parent, parent || to_char(day + ahead, '_YYYY_MM_DD')
    from today, unnest('{webhook_attempts,webhook_deliveries}'::text[]) parent, generate_series(0, 1) ahead)
  select parent, part, exists (
    select from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass('public.' || parent) and c.relname = part) as there
  from needed order by part`

interface Needed {
  parent: string
  part: string
  there: boolean
}

export const partitionsAhead = (ground: Ground): Fix => ({
  ...WORDS,
  automatic: true,
  async detect(tx) {
    const ask = askIn(tx)
    const needed = (await ground.committed(ask)) ? await ask<Needed>(NEEDED) : []
    const missing = needed.filter(({ there }) => !there)
    return { findings: missing.map(findingOf), looked_at: needed.length }
  },
  repair: (finding, repairing) =>
    repairing(async (tx) => {
      if (!(await missingOf(tx, finding))) return 'already gone'
      await sql`select ensure_journal_partitions(2), ensure_webhook_partitions(
        (now() at time zone 'UTC')::date, (now() at time zone 'UTC')::date + 2)`.execute(tx.db)
      const still = await missingOf(tx, finding)
      if (still) throw new Error(`${still.part} is a table but not a partition of ${still.parent}`)
      return 'repaired'
    }),
})

const findingOf = ({ parent, part }: Needed): Finding => ({
  tenant_id: null,
  subject: `partition ${part}`,
  measured: { state: 'missing' },
  expected: { partition_of: parent },
})

async function missingOf(tx: TenantTx, { subject }: Finding): Promise<Needed | undefined> {
  const needed = await askIn(tx)<Needed>(NEEDED)
  return needed.find((one) => !one.there && findingOf(one).subject === subject)
}
