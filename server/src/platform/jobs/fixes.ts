/** What can be wrong with jobs of any kind: left behind by a process that died, or given up. */
import { type RawBuilder, sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'
import type { Finding, Fix } from '../fix.ts'
import { type Boss, statementsOn } from './boss.ts'
import type { JobKind } from './kind.ts'

/** pg-boss gives jobs back every 30 s; what it has left for longer it does not see. */
const LEFT_FOR = sql`interval '5 minutes'`
/** Of one kind in one repair: more are found again. */
const MOST = 1000

export function jobFixes(boss: Boss, kinds: () => readonly JobKind<object>[]): readonly Fix[] {
  const lateKinds = () => kinds().flatMap(({ name, mayRunLate }) => (mayRunLate ? [name] : []))
  return [stuck(boss), givenUp(boss, lateKinds), tooLate(lateKinds)]
}

const stuck = (boss: Boss): Fix => ({
  key: 'jobs.stuck',
  title: 'Jobs whose lease is over, and that nobody takes back',
  description:
    'A process took these jobs and died, or hangs. When their lease ends they are given back for another attempt, by the upkeep of any process that works jobs off; for these nobody has. What they were to do waits.',
  severity: 'high',
  automatic: true,
  plan: 'Counts the attempt as failed, as the upkeep would have: each job waits for its next attempt, or is given up where it had none left.',
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
      const jobs = await lockJobs(tx, kind, IS_STUCK)
      if (jobs.length === 0) return 'already gone'
      await boss.jobs.fail(kind, jobs, TIMED_OUT, { db: statementsOn(tx) })
      return 'repaired'
    }),
})

const givenUp = (boss: Boss, kinds: () => string[]): Fix => ({
  key: 'jobs.given_up',
  title: 'Jobs that were given up',
  description:
    'Every attempt at these jobs has failed, so nobody tries them any more; after 7 days they are deleted. What they were to do is not done. The log has told of each as "gave up job", with the error.',
  severity: 'medium',
  automatic: false,
  plan: 'Makes one more attempt at each, now. Mend first what the error speaks of: otherwise it fails again.',
  runbook: 'before-confirming.md',
  async detect(tx) {
    const found = await listGivenUp(tx, sql`name = any(${kinds()}::text[])`)
    return { findings: found.map(findingOf), looked_at: kinds().length }
  },
  repair: ({ measured }, repairing) =>
    repairing(async (tx) => {
      const kind = String(measured.kind)
      const jobs = await lockJobs(tx, kind, IS_GIVEN_UP)
      if (jobs.length === 0) return 'already gone'
      const ids = jobs.map(({ id }) => id)
      await boss.jobs.retry(kind, ids, { db: statementsOn(tx) })
      return 'repaired'
    }),
})

const tooLate = (kinds: () => string[]): Fix => ({
  key: 'jobs.too_late',
  title: 'Mails, and other jobs that would come too late, that were given up',
  description:
    'Every attempt at these jobs has failed, and what they were for is over by now: the links of a mail no longer work, the next run of what comes on a schedule does it, or this release knows no such job. After 7 days they are deleted.',
  severity: 'medium',
  automatic: false,
  plan: 'Nothing is done: people ask for new links once mails go out again, and what comes on a schedule comes again. See to what the error speaks of.',
  runbook: 'mail.md',
  async detect(tx) {
    const others = sql`name <> all(${kinds()}::text[]) and name not like '\\_\\_pgboss\\_\\_%'`
    const found = await listGivenUp(tx, others)
    return { findings: found.map(findingOf), looked_at: found.length }
  },
})

interface Counted {
  kind: string
  jobs: number
  since: string
}

interface GivenUp extends Counted {
  last: string
  error: string
}

const LEASE_END = sql`(started_on + expire_seconds * interval '1 second')`
const IS_STUCK = sql<boolean>`state = 'active' and ${LEASE_END} < now() - ${LEFT_FOR}`
const IS_GIVEN_UP = sql<boolean>`state = 'failed'`
/** In pg-boss' words. */
const TIMED_OUT = { value: { message: 'job timed out' } }

/** The class of an error alone: what jobs hold, and what errors quote of it, is nobody's business. */
const ERROR = sql<string>`coalesce(
  nullif(concat_ws(' ', substring(output ->> 'name' from '^\\w{1,60}$'),
    substring(output ->> 'code' from '^\\w{1,60}$')), ''),
  case when output = ${JSON.stringify(TIMED_OUT)}::jsonb then 'timed out' end, 'unknown')`

async function listGivenUp(tx: TenantTx, which: RawBuilder<unknown>): Promise<GivenUp[]> {
  const { rows } = await sql<GivenUp>`
    select name as kind, count(*) as jobs, min(completed_on) as since,
      max(completed_on) as last, (array_agg(${ERROR} order by completed_on desc))[1] as error
    from pgboss.job where ${IS_GIVEN_UP} and ${which} group by name order by name`.execute(tx.db)
  return rows
}

/** Those of a kind, but none that somebody else is just about. */
async function lockJobs(tx: TenantTx, kind: string, which: RawBuilder<boolean>) {
  const { rows } = await sql<{ id: string; retryCount: number }>`
    select id, retry_count as "retryCount" from pgboss.job
    where name = ${kind} and ${which} order by created_on limit ${MOST}
    for update skip locked`.execute(tx.db)
  return rows
}

function findingOf(counted: Counted & Partial<GivenUp>): Finding {
  const { kind, jobs, since, last, error } = counted
  return {
    tenant_id: null,
    subject: `jobs ${kind}`,
    measured: {
      kind,
      jobs,
      ...(last === undefined ? {} : { last }),
      ...(error === undefined ? {} : { error }),
    },
    expected: { jobs: 0 },
    since,
  }
}
