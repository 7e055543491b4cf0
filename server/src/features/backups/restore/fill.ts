/** Brings the rows of a backup onto the stage, as the file is read. */
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Connection } from '../../../platform/db/index.ts'
import { rowsOf } from '../file/tenant-rows.ts'
import { openStage, type Staged } from './stage.store.ts'

export interface Filler {
  rows(table: string, part: Buffer): Promise<void>
  /** Resolves once all rows are there. */
  end(): Promise<void>
}

/** @param tenantId whose rows alone are taken; null for all */
export function filler(
  client: Connection,
  staged: readonly Staged[],
  tenantId: number | null,
): Filler {
  let open: { table: Staged; stream: Writable; failed?: Error } | undefined

  async function end(): Promise<void> {
    const { stream, failed } = open ?? {}
    open = undefined
    if (failed) throw failed
    if (stream) await finished(stream.end())
  }

  async function begin(table: Staged) {
    await end()
    const stream = openStage(client, table)
    const begun: NonNullable<typeof open> = { table, stream }
    stream.on('error', (error) => {
      begun.failed = error
    })
    open = begun
    return begun
  }

  return {
    async rows(name, part) {
      const table = staged.find((one) => one.name === name)
      if (!table) return
      const { stream } = open?.table === table ? open : await begin(table)
      const wanted = tenantId === null ? part : rowsOf(table, part, tenantId)
      if (wanted.length > 0 && !stream.write(wanted)) await once(stream, 'drain')
      if (open?.failed) throw open.failed
    },
    end,
  }
}
