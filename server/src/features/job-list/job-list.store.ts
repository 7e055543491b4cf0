/** SQL that reads the jobs of all sources as one list. */
import { sql } from 'kysely'
import type { Found, PageRequest } from '../../lib/page.ts'
import { ofInstallation, readPage, type Scoped, type TenantTx } from '../../platform/db/index.ts'
import type { JobSource, LongJobRow } from '../../platform/feature/job-source.ts'
import type { JobQuery } from './job-list.schema.ts'

const COLUMNS = [
  'id',
  'kind',
  'tenant_id',
  'subject_id',
  'status',
  'phase',
  'done',
  'total',
  'unit',
  'error',
  'result',
  'actor',
  'created_at',
  'started_at',
  'progressed_at',
  'counted_since',
  'finished_at',
  'can_cancel',
] as const satisfies (keyof LongJobRow)[]

/** Selects the jobs that the transaction may see; across tenants also the jobs of the installation. */
function allOf(scope: Scoped, sources: readonly JobSource[]) {
  const isReadable = (source: JobSource) => scope.tenantId === null || !source.isOfInstallation
  const union = sql.join(
    sources.filter(isReadable).map(({ select }) => select),
    sql` union all `,
  )
  return scope.db
    .selectFrom(sql<LongJobRow>`(${union})`.as('job'))
    .select(COLUMNS)
    .where(ofInstallation(scope, 'tenant_id', null))
}

export function listJobs(
  tx: TenantTx,
  asked: PageRequest<JobQuery>,
  sources: readonly JobSource[],
): Promise<Found<LongJobRow>> {
  const { status, kind } = asked.query
  return readPage(tx, asked, (scope) => allOf(scope, sources), {
    filter(jobs) {
      const ofStatus = status ? jobs.where('status', '=', status) : jobs
      return kind ? ofStatus.where('kind', '=', kind) : ofStatus
    },
  })
}

export function findLongJob(
  tx: TenantTx,
  id: string,
  sources: readonly JobSource[],
): Promise<LongJobRow | undefined> {
  return allOf(tx, sources).where('id', '=', id).executeTakeFirst()
}
