/** The common interface of scenarios: each measures and returns lines of the table. */

import type { Environment } from '../environment.ts'
import type { Pace } from '../measure/compare.ts'
import type { Line } from '../measure/table.ts'

export type Scenario = (
  environment: Environment,
  pace: Pace,
  say: (what: string) => void,
) => Promise<Line[]>

/** The concurrent requests, the same for the service and its baselines. */
export const CONNECTIONS = 32
/** The service's default number of database connections, which a baseline gets too. */
export const POOL_SIZE = 10
