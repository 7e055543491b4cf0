/** The sources of restored rows: the backup file, or a temporary server that migrated the rows to this schema. */
import { ownerClient, type PgConnection } from '../../../platform/db/index.ts'
import type { Migration } from '../../../platform/schema/migrate.ts'
import { takeSnapshot } from '../create/snapshot.store.ts'
import { onThrowAwayServer, type ThrowAwayDeps } from '../drill/temporary-server.ts'
import { UnreadableFile } from '../file/age.ts'
import type { BackedUpTable, Header } from '../file/format.ts'
import type { BackupKeys } from '../file/identity.ts'
import type { OpenedBackup } from '../file/read.ts'
import { wholeRows } from '../file/rows.ts'
import { restoreIntoEmpty } from '../restore-into-empty/restore.ts'

export interface RowSource {
  tables: readonly BackedUpTable[]
  /** Calls `take` with chunks of complete rows. The rows are verified only when this function returns. */
  each(take: (table: string, rows: Buffer) => Promise<void>): Promise<void>
}

/** Returns a source that reads the rows of a file with the current schema. */
export const rowsOfFile = ({ header, first, parts }: OpenedBackup): RowSource => ({
  tables: header.tables,
  async each(take) {
    for (let next = first; !next.done; next = await parts.next())
      await take(next.value.table, next.value.rows)
  },
})

export interface OlderDeps extends ThrowAwayDeps {
  backupKeys: BackupKeys
  /** The header from the first read of the file. The file is read twice, and both headers must match. */
  header: Header
  wanted: readonly string[]
  migrations?: Migration[] | undefined
}

/** Loads a file with an older schema into a temporary server and migrates it. The server stops when `use` returns. */
export function withOlderRows<T>(
  file: AsyncIterable<Uint8Array>,
  size: number,
  deps: OlderDeps,
  use: (rows: RowSource) => Promise<T>,
): Promise<T> {
  const { backupKeys, migrations, wanted } = deps
  return onThrowAwayServer(deps, size, async (address, log) => {
    // Loads purged tenants and records as well, because the caller removes and reports them.
    const how = {
      address,
      backupKeys,
      log,
      notes: [],
      recordNotes: [],
      purgedRecords: [],
      takesClinics: true,
    }
    const { header } = await restoreIntoEmpty(file, migrations ? { ...how, migrations } : how)
    if (JSON.stringify(header) !== JSON.stringify(deps.header))
      throw new UnreadableFile('the file changed while it was being read')
    const client = ownerClient(address)
    await client.connect()
    try {
      return await use(await rowsOfServer(client, wanted))
    } finally {
      await client.end()
    }
  })
}

async function rowsOfServer(client: PgConnection, names: readonly string[]): Promise<RowSource> {
  const { tables, rows } = await takeSnapshot(client, names, null)
  return {
    tables,
    async each(take) {
      for (const { name } of tables)
        for await (const part of wholeRows(rows(name))) await take(name, part)
    },
  }
}
