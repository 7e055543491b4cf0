/** Repairs jobs that a dead process has left. */
import { sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'
import type { Finding, Fix } from '../feature/fix.ts'
import { type Boss, statementsOn } from './boss.ts'

/** How long ago a job must have expired. pg-boss releases expired jobs every 30 s, so it has missed such a job. */
const LEFT_FOR = sql`interval '5 minutes'`
/** The maximum number of jobs of a kind per repair. The next scan finds the remaining jobs. */
const MOST = 1000

export const stuckJobsFix = (boss: Boss): Fix => ({
  key: 'jobs.stuck',
  title: 'Jobs with an expired lease were not released',
  description:
    'The process that ran these jobs ended or hangs. Any process that runs jobs releases expired ones for another attempt, but these were not released. Their work is waiting.',
  severity: 'high',
  automatic: true,
  plan: 'Counts the attempt as failed. Each job then waits for its next attempt, or fails for good after its last attempt.',
  async detect(tx) {
    const { rows } = await sql<Counted>`
      select q.name as kind, coalesce(l.jobs, 0) as jobs, l.since
      from pgboss.queue q left join (
        select name, count(*) as jobs, min(${LEASE_END}) as since
        from pgboss.job where ${IS_STUCK} group by name
      ) l using (name)`.execute(tx.db)
    const found = rows.filter(({ jobs }) => jobs > 0)
    return { findings: found.map(findingOf), looked_at: rows.length }
  },
  repair: ({ measured }, repairing) =>
    repairing(async (tx) => {
      const kind = String(measured.kind)
      const jobs = await lockJobs(tx, kind)
      if (jobs.length === 0) return 'already gone'
      await boss.jobs.fail(kind, jobs, TIMED_OUT, { db: statementsOn(tx) })
      return 'repaired'
    }),
})

interface Counted {
  kind: string
  jobs: number
  since: string
}

const LEASE_END = sql`(started_on + expire_seconds * interval '1 second')`
const IS_STUCK = sql<boolean>`state = 'active' and ${LEASE_END} < now() - ${LEFT_FOR}`
/** The error that pg-boss records for an expired job. */
const TIMED_OUT = { value: { message: 'job timed out' } }

/** Locks the stuck jobs of a kind, except those that another process has locked. */
async function lockJobs(tx: TenantTx, kind: string) {
  const { rows } = await sql<{ id: string; retryCount: number }>`
    select id, retry_count as "retryCount" from pgboss.job
    where name = ${kind} and ${IS_STUCK} order by created_on limit ${MOST}
    for update skip locked`.execute(tx.db)
  return rows
}

function findingOf({ kind, jobs, since }: Counted): Finding {
  return {
    tenant_id: null,
    subject: `jobs ${kind}`,
    measured: { kind, jobs },
    expected: { jobs: 0 },
    since,
  }
}
