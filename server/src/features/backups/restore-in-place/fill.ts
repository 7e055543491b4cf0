/** Brings the rows of a backup onto the stage, as the file is read. */
import type { Connection } from '../../../platform/db/index.ts'
import { rowsOf } from '../file/tenant-rows.ts'
import { copyToStage, type Staged } from './stage.store.ts'

/** What is copied by one statement: each costs a moment of its own. */
const BATCH_BYTES = 1024 ** 2

export interface Filler {
  rows(table: string, part: Buffer): Promise<void>
  /** Resolves once all rows are there. */
  end(): Promise<void>
}

interface Batch {
  table: Staged
  parts: Buffer[]
  bytes: number
}

/**
 * Rows wait for each other here, and never in a transaction: one that waited for a store would hold back all readers of
 * the journal.
 * @param tenantId whose rows alone are taken; null for all
 */
export function filler(
  client: Connection,
  staged: readonly Staged[],
  tenantId: number | null,
): Filler {
  let batch: Batch | undefined

  async function end(): Promise<void> {
    const full = batch
    batch = undefined
    if (full) await copyToStage(client, full.table, Buffer.concat(full.parts))
  }

  return {
    async rows(name, part) {
      if (batch?.table.name !== name) await end()
      const table = staged.find((one) => one.name === name)
      if (!table) return
      const wanted = tenantId === null ? part : rowsOf(table, part, tenantId)
      if (wanted.length === 0) return
      batch ??= { table, parts: [], bytes: 0 }
      // Those of a server are good until the next are asked for.
      batch.parts.push(Buffer.from(wanted))
      batch.bytes += wanted.length
      if (batch.bytes >= BATCH_BYTES) await end()
    },
    end,
  }
}
