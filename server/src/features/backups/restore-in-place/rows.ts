/** Where the rows of a restore come from, table by table: out of the file, or out of a server that has made them today's. */
import { type Connection, ownerClient } from '../../../platform/db/index.ts'
import type { Migration } from '../../../platform/db/migrate.ts'
import { takeSnapshot } from '../create/snapshot.store.ts'
import { onThrowAwayServer, type ThrowAwayDeps } from '../drill/throw-away.ts'
import { UnreadableFile } from '../file/age.ts'
import type { BackedUpTable, Header } from '../file/format.ts'
import type { Keeper } from '../file/identity.ts'
import type { OpenedBackup } from '../file/read.ts'
import { wholeRows } from '../file/rows.ts'
import { restoreIntoEmpty } from '../restore-into-empty/restore.ts'

export interface RowSource {
  tables: readonly BackedUpTable[]
  /** Hands out all rows, cut where one ends. They are proven once it has returned, and not before. */
  each(take: (table: string, rows: Buffer) => Promise<void>): Promise<void>
}

/** The rows of a file of this database's schema. */
export const rowsOfFile = ({ header, first, parts }: OpenedBackup): RowSource => ({
  tables: header.tables,
  async each(take) {
    for (let next = first; !next.done; next = await parts.next())
      await take(next.value.table, next.value.rows)
  },
})

export interface OlderDeps extends ThrowAwayDeps {
  keeper: Keeper
  /** What the file has said of itself before: it is read anew. */
  header: Header
  /** The tables whose rows are wanted. */
  wanted: readonly string[]
  migrations?: Migration[] | undefined
}

/**
 * Loads a file of an older schema into a server that is thrown away, and migrates it there.
 * @param use what is done with the rows, while the server is there
 */
export function withOlderRows<T>(
  file: AsyncIterable<Uint8Array>,
  size: number,
  deps: OlderDeps,
  use: (rows: RowSource) => Promise<T>,
): Promise<T> {
  const { keeper, migrations, wanted } = deps
  return onThrowAwayServer(deps, size, async (address, log) => {
    // Who was purged is left out by whoever takes the rows, and tells of it.
    const how = {
      address,
      keeper,
      log,
      notes: [],
      recordNotes: [],
      purgedRecords: [],
      takesClinics: true,
    }
    const { header } = await restoreIntoEmpty(file, migrations ? { ...how, migrations } : how)
    if (JSON.stringify(header) !== JSON.stringify(deps.header))
      throw new UnreadableFile('it is another one than a moment before')
    const client = ownerClient(address)
    await client.connect()
    try {
      return await use(await rowsOfServer(client, wanted))
    } finally {
      await client.end()
    }
  })
}

async function rowsOfServer(client: Connection, names: readonly string[]): Promise<RowSource> {
  const { tables, rows } = await takeSnapshot(client, names, null)
  return {
    tables,
    async each(take) {
      for (const { name } of tables)
        for await (const part of wholeRows(rows(name))) await take(name, part)
    },
  }
}
