/** Assembles the feature that shows the long jobs of all features (ADR 0040). */
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { trackedJobsUpkeep } from '../../platform/jobs/index.ts'
import { jobOperations } from './job-list.routes.ts'
import { jobSchemas } from './job-list.schema.ts'
import { jobsService } from './job-list.service.ts'

/** @param features the features whose jobs are listed */
export function openJobList(core: Needs<'db'>, features: readonly Feature[]): Feature {
  const sources = features.flatMap(({ jobs = [] }) => jobs)
  const schemas = jobSchemas(sources.flatMap(({ kinds }) => kinds))
  return {
    name: 'job-list',
    operations: jobOperations(jobsService(core.db, sources), schemas),
    upkeep: [trackedJobsUpkeep(core.db)],
  }
}
