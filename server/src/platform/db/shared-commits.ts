/**
 * Groups single-statement transactions into shared commits. Statements that arrive during a transaction share the round
 * trips of the next one. Each runs in its own tenant's scope, with row-level security (decision 0031).
 */
import { batcher } from '../../lib/batcher.ts'
import type { Time } from '../../lib/time.ts'
import { within } from '../../lib/within.ts'
import { isUndone } from './failures.ts'
import type { Statement } from './statements.ts'
import type { Topic } from './topics.ts'

/** The maximum number of statements per transaction. Locks are held until the last statement has run. */
const MAX_TOGETHER = 32
/** The time after which waiting statements start a transaction, even if another one is still running. */
const PATIENCE_MS = 20

/** A statement with its tenant, and the topics of which nodes are notified if the statement returns rows. */
export interface SharedStatement {
  tenantId: number
  query: Statement
  topics: readonly Topic[]
}

export type Rows = Record<string, unknown>[]

export interface SharedCommitDeps {
  clock: Time
  /** Runs one statement in a transaction of its own. */
  alone(statement: SharedStatement): Promise<Rows>
  /** Runs the statements in one transaction with a short lock timeout. Returns their rows after the commit. */
  together(statements: readonly SharedStatement[]): Promise<Rows[]>
}

type Waiting = SharedStatement & PromiseWithResolvers<Rows>

export function openSharedCommits({ alone, together, clock }: SharedCommitDeps) {
  const eachAlone = (waiting: readonly Waiting[]) =>
    Promise.all(waiting.map((one) => alone(one).then(one.resolve, one.reject)))

  async function settle(waiting: readonly Waiting[]): Promise<void> {
    if (waiting.length === 1) return void (await eachAlone(waiting))
    try {
      const rows = await together(waiting)
      waiting.forEach((one, at) => void one.resolve(rows[at] as Rows))
    } catch (error) {
      // Nothing was written. Runs each statement alone, so that errors and lock waits do not affect the others.
      if (isUndone(error)) await eachAlone(waiting)
      // The transaction may have committed, so each caller has to decide whether to retry.
      else for (const { reject } of waiting) reject(error)
    }
  }

  const batches = batcher<Waiting>(
    async (waiting) => void (await within(clock, PATIENCE_MS, settle(waiting))),
    { clock, maxItems: MAX_TOGETHER, onError: () => 'drop' },
  )
  return (statement: SharedStatement): Promise<Rows> => {
    const one = { ...statement, ...Promise.withResolvers<Rows>() }
    void batches.add(one)
    return one.promise
  }
}
