/** Lists the long jobs of all features, and cancels them. */
import type { Cursor } from '../../lib/cursor.ts'
import { type Page, toPage } from '../../lib/page.ts'
import { orNotFound, Problem } from '../../lib/problems.ts'
import { type Admin, requireOwnTenant } from '../../platform/access/index.ts'
import { forCaller, inScope, type Scopes, scopeOf } from '../../platform/db/index.ts'
import type { JobSource, LongJobRow } from '../../platform/feature/job-source.ts'
import { actorOf, ordererOf, requireSession } from '../../platform/journal/index.ts'
import { type Job, type JobQuery, jobList } from './job-list.schema.ts'
import * as store from './job-list.store.ts'

export interface JobsService {
  /** Lists jobs, latest first. @throws Problem 403 for another tenant */
  list(caller: Admin, query: JobQuery, from: Cursor | undefined): Promise<Page<Job>>
  /** @throws Problem 404 for an unknown job */
  find(caller: Admin, id: string): Promise<Job>
  /** Cancels a job. @throws Problem 404 for an unknown job, 409 if the job can no longer be cancelled */
  cancel(caller: Admin, id: string): Promise<void>
}

export function jobsService(db: Scopes, sources: readonly JobSource[]): JobsService {
  const sourceOf = ({ kind }: LongJobRow) => sources.find(({ kinds }) => kinds.includes(kind))

  return {
    async list(caller, query, from) {
      requireOwnTenant(caller, query.tenant_id)
      const asked = { list: jobList, caller, query, from }
      const work = async (tx: Parameters<typeof store.listJobs>[0]) => {
        const { items, ...page } = toPage(asked, await store.listJobs(tx, asked, sources))
        return { ...page, items: items.map(jobOf) }
      }
      return inScope(db, scopeOf(caller, query.tenant_id), work, 'read')
    },

    find: (caller, id) =>
      forCaller(
        db,
        caller,
        async (tx) => {
          const job = orNotFound(await store.findLongJob(tx, id, sources), 'job')
          const { addNames } = sourceOf(job) ?? {}
          const result = job.result && addNames ? await addNames(tx, job.result) : job.result
          return jobOf({ ...job, result })
        },
        'read',
      ),

    async cancel(caller, id) {
      const actor = actorOf(caller)
      const job = await forCaller(db, caller, async (tx) => {
        requireSession(tx, actor)
        return orNotFound(await store.findLongJob(tx, id, sources), 'job')
      })
      const source = sourceOf(job)
      // Superadmins have no session in the tenant of the job, so the cancellation itself does not check it again.
      const isCancelled = job.can_cancel && (await source?.cancel?.(job, ordererOf(actor)))
      if (!isCancelled) throw new Problem('job_not_cancellable')
    },
  }
}

function jobOf({ id, actor, counted_since, ...job }: LongJobRow): Job {
  return {
    job_id: id,
    ...job,
    rate: rateOf(job.done, counted_since, job.progressed_at),
    created_by: actor?.user_id ?? null,
    created_by_email: actor?.user_email ?? null,
  }
}

/** Returns the average work per second, rounded to a tenth; null without progress. */
function rateOf(done: number | null, since: string | null, until: string | null): number | null {
  if (!done || !since || !until) return null
  const seconds = (Date.parse(until) - Date.parse(since)) / 1000
  return seconds > 0 ? Math.round((done / seconds) * 10) / 10 : null
}
