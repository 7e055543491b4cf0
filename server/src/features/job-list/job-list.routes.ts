import { pageStartOf } from '../../lib/page.ts'
import { admins } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { type JobSchemas, jobList, LongJobPath } from './job-list.schema.ts'
import type { JobsService } from './job-list.service.ts'

const common = { tag: 'Jobs', access: admins, duringMaintenance: true } as const

export function jobOperations(
  jobs: JobsService,
  { Job, JobPage, JobQuery }: JobSchemas,
): AnyOperation[] {
  return [
    operation({
      ...common,
      method: 'GET',
      path: '/api/admin/jobs',
      id: 'listJobs',
      summary: 'List jobs',
      description:
        'Returns a page of long jobs, latest first: backups, restores, test restores, key rotations, replays, exports and scans for faults. An administrator sees the jobs of their tenant, a superadmin those of all tenants and of the installation. Send the `ETag` of the previous response as `If-None-Match` to receive 304 while nothing has changed. Available also during a restore.',
      query: JobQuery,
      list: true,
      etag: true,
      refine: (given, refuse) => pageStartOf(jobList, given, refuse),
      success: [200, JobPage],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => jobs.list(caller, query, refined),
    }),
    operation({
      ...common,
      method: 'GET',
      path: '/api/admin/jobs/{job_id}',
      id: 'getJob',
      summary: 'Get a job',
      description:
        'Returns the progress and the result of a job. Send the `ETag` of the previous response as `If-None-Match` to receive 304 while nothing has changed. Available also during a restore.',
      params: LongJobPath,
      etag: true,
      success: [200, Job],
      refusals: ['not_found'],
      handle: ({ caller, path }) => jobs.find(caller, path.job_id),
    }),
    operation({
      ...common,
      method: 'DELETE',
      path: '/api/admin/jobs/{job_id}',
      id: 'cancelJob',
      summary: 'Cancel a job',
      description:
        'Cancels a job whose `can_cancel` is true. A running job stops within a few seconds and undoes its work. A running restore and a key rotation cannot be cancelled.',
      records: ['job.cancelled', 'webhook.replay_cancelled'],
      params: LongJobPath,
      success: [204, null],
      refusals: ['not_found', 'job_not_cancellable'],
      handle: ({ caller, path }) => jobs.cancel(caller, path.job_id),
    }),
  ]
}
