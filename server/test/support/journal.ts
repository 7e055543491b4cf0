/** Reads the journal as its consumers do. */
import type { TestDatabase } from './database.ts'
import { until } from './until.ts'

/** Waits until a consumer has read every entry written so far, including entries that older transactions delayed. */
export async function untilRead({ sql }: TestDatabase, consumer: string): Promise<void> {
  await until('the journal is read', async () => {
    const unread = await sql(
      `select from journal j left join journal_consumers c on c.consumer = $1
       where not j.is_access and (j.xid, j.id) > (coalesce(c.xid, '0'), coalesce(c.id, 0)) limit 1`,
      [consumer],
    )
    return unread.length === 0 || undefined
  })
}
