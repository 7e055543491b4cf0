/** Follows long jobs of the service. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent } from 'react'
import { noteRestore } from '../../api/availability.ts'
import { api, type Schemas, take } from '../../api/client.ts'
import { ApiError } from '../../api/problem.ts'

/** A long job as the API returns it. */
export type ServiceJob = Schemas['Job']

/** A job with the entity tag of its last response. */
interface KnownJob {
  readonly job: ServiceJob
  readonly etag: string | null
}

const FOLLOW_MS = 1_000
const LOOK_MS = 15_000

/** True if the job has ended. */
export const isOver = ({ status }: ServiceJob): boolean =>
  status !== 'queued' && status !== 'running'

/**
 * Loads a job each second until it ends. A repeated request returns nothing new while the job has not changed.
 * @param onOver called once with the job that ended
 */
export function useJob(id: string, onOver?: (job: ServiceJob) => void) {
  const client = useQueryClient()
  const queryKey = ['jobs', 'one', id]
  const query = useQuery({
    queryKey,
    queryFn: () => loadJob(id, client.getQueryData<KnownJob>(queryKey)),
    select: ({ job }) => job,
    staleTime: 0,
    refetchInterval: ({ state: { data, error } }) =>
      (data && isOver(data.job)) || isUnknown(error) ? false : FOLLOW_MS,
  })
  const job = query.data
  const end = useEffectEvent(() => job && onOver?.(job))
  const hasEnded = job !== undefined && isOver(job)
  useEffect(() => {
    if (hasEnded) end()
  }, [hasEnded])
  return query
}

/** True if the job does not exist, or the reader may not see it. */
const isUnknown = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 403 || error.status === 404)

async function loadJob(job_id: string, known: KnownJob | undefined): Promise<KnownJob> {
  const header = known?.etag ? { 'If-None-Match': known.etag } : {}
  const params = { path: { job_id }, header }
  const { data, response } = await api.GET('/api/admin/jobs/{job_id}', { params })
  if (response.status === 304 && known) {
    noteIfRestore(known.job)
    return known
  }
  const job = data as ServiceJob
  noteIfRestore(job)
  return { job, etag: response.headers.get('etag') }
}

/**
 * Loads the latest job of a kind, which anyone may have started. Repeats the request now and then, so that the page
 * shows a job that another person started.
 * @param tenant_id the tenant of the job; undefined for all tenants
 */
export function useLatestJob(kind: ServiceJob['kind'], tenant_id?: number) {
  return useQuery({
    queryKey: ['jobs', 'latest', kind, tenant_id],
    queryFn: async () => {
      const query = { kind, limit: 1, ...(tenant_id !== undefined && { tenant_id }) }
      const page = await take(api.GET('/api/admin/jobs', { params: { query } }))
      page.items.forEach(noteIfRestore)
      return page
    },
    select: ({ items }) => items[0],
    refetchInterval: LOOK_MS,
  })
}

/** Records a running restore, whose end signs people out. */
function noteIfRestore(job: ServiceJob): void {
  if (job.kind === 'restore' && !isOver(job)) noteRestore()
}

/** Cancels a job. */
export const cancelJob = (job_id: string) =>
  take(api.DELETE('/api/admin/jobs/{job_id}', { params: { path: { job_id } } }))
