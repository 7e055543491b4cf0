/** What every scenario is: a measurement that answers lines of the table. */
import type { Pace } from '../measure/duel.ts'
import type { Line } from '../measure/table.ts'
import type { Stage } from '../stage.ts'

export type Scenario = (stage: Stage, pace: Pace, say: (what: string) => void) => Promise<Line[]>

/** Requests under way at once, of the service and of its peers alike. */
export const CONNECTIONS = 32
/** The service's default number of database connections; a peer gets as many. */
export const POOL_SIZE = 10
