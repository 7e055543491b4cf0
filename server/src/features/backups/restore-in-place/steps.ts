/** Runs the steps of the features before and after a restore. */
import type { Connection } from '../../../platform/db/index.ts'
import type { RestoreSteps } from '../../../platform/restore-columns.ts'
import { enterScope } from './closing.store.ts'

type Afterwards = (client: Connection) => Promise<void>

/** Runs the steps before the rows are written. Returns the work to do after the commit. */
export async function beforeRows(
  client: Connection,
  steps: readonly RestoreSteps[],
): Promise<Afterwards[]> {
  const afterwards: Afterwards[] = []
  for (const step of steps) {
    const work = await step.before?.(client)
    if (work) afterwards.push(work)
  }
  return afterwards
}

/** Runs the work after the commit, on which nothing of the restore depends. */
export async function finish(client: Connection, afterwards: readonly Afterwards[]): Promise<void> {
  if (afterwards.length === 0) return
  await client.query('begin')
  try {
    await enterScope(client, null)
    for (const work of afterwards) await work(client)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}
