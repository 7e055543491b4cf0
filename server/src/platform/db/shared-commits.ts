/**
 * Group commit of statements that are each a transaction of their own: those that come while one is under way
 * share the next one's beginning, its commit and its messages. Each runs in the scope of its own tenant, so
 * that row-level security holds it as it would alone (decision 0031).
 */
import { batcher } from '../../lib/batcher.ts'
import type { Time } from '../../lib/time.ts'
import { within } from '../../lib/within.ts'
import { isUndone } from './failures.ts'
import type { Statement } from './statements.ts'
import type { Topic } from './topics.ts'

/** Statements of one transaction at the most: locks are held until the last of them has run. */
const MAX_TOGETHER = 32
/** While one transaction takes longer, what has come meanwhile does not wait for its end. */
const PATIENCE_MS = 20

/** A statement with where it runs, and who is to look for what it leaves. */
export interface SharedStatement {
  tenantId: number
  query: Statement
  topics: readonly Topic[]
}

export type Rows = Record<string, unknown>[]

export interface SharedCommitDeps {
  clock: Time
  /** Runs one by itself, as any transaction of a tenant. */
  alone(statement: SharedStatement): Promise<Rows>
  /** Runs them in one transaction that waits for no lock for long, and answers the rows of each once it has committed. */
  together(statements: readonly SharedStatement[]): Promise<Rows[]>
}

type Waiting = SharedStatement & PromiseWithResolvers<Rows>

/** Returns what runs a statement, and answers its rows once they have committed. */
export function openSharedCommits({ alone, together, clock }: SharedCommitDeps) {
  const eachAlone = (waiting: readonly Waiting[]) =>
    Promise.all(waiting.map((one) => alone(one).then(one.resolve, one.reject)))

  async function settle(waiting: readonly Waiting[]): Promise<void> {
    if (waiting.length === 1) return void (await eachAlone(waiting))
    try {
      const rows = await together(waiting)
      waiting.forEach((one, at) => void one.resolve(rows[at] as Rows))
    } catch (error) {
      // What one of them waits for, or is refused for, is no business of the others.
      if (isUndone(error)) await eachAlone(waiting)
      // It may have committed: whoever asked decides whether to ask again.
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
