/** What every scenario is: a measurement that answers lines of the table. */

import type { Environment } from '../environment.ts'
import type { Pace } from '../measure/compare.ts'
import type { Line } from '../measure/table.ts'

export type Scenario = (
  environment: Environment,
  pace: Pace,
  say: (what: string) => void,
) => Promise<Line[]>

/** Requests under way at once, of the service and of its baselines alike. */
export const CONNECTIONS = 32
/** The service's default number of database connections; a baseline gets as many. */
export const POOL_SIZE = 10
