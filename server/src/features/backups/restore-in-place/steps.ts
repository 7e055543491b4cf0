/** What the features do within a restore, and after it. */
import type { Connection } from '../../../platform/db/index.ts'
import type { RestoreSteps } from '../../../platform/restore-columns.ts'
import { enterScope } from './closing.store.ts'

type Afterwards = (client: Connection) => Promise<void>

/** Returns what the features do after the restore. */
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

/** Nothing of the restore depends on this. */
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
