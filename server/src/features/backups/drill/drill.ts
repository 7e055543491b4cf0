/**
 * The drill: a backup is restored, by the code of the real restore, into an embedded server that is thrown
 * away. How long that took is the time that a recovery takes.
 */
import type { DatabaseAddress } from '../../../platform/db/index.ts'
import { notesIn } from '../erase/notes.ts'
import type { Header } from '../file/format.ts'
import type { Keeper } from '../file/identity.ts'
import { restoreIntoEmpty } from '../restore-into-empty/restore.ts'
import type { Store } from '../stores/store.ts'
import { onThrowAwayServer, type ThrowAwayDeps } from './throw-away.ts'

export interface DrillDeps extends ThrowAwayDeps {
  keeper: Keeper
  /** Proves that what was restored opens. */
  prove(address: DatabaseAddress): Promise<void>
  /** The stores whose notes of purged tenants hold. */
  stores: readonly Store[]
}

export interface Drilled {
  header: Header
  records: number
  /** From the first byte to the last check. */
  seconds: number
}

/**
 * @param file its bytes
 * @param size how many
 * @throws Error that says what is wrong with it, and what `onThrowAwayServer` throws
 */
export function drill(
  file: AsyncIterable<Uint8Array>,
  size: number,
  deps: DrillDeps,
): Promise<Drilled> {
  const { keeper, prove, stores } = deps
  return onThrowAwayServer(deps, size, async (address, log) => {
    const begun = performance.now()
    const notes = await notesIn(stores, keeper, deps.log)
    const restored = await restoreIntoEmpty(file, {
      address,
      keeper,
      log,
      notes,
      recordNotes: [],
      purgedRecords: [],
    })
    await prove(address)
    return { ...restored, seconds: (performance.now() - begun) / 1000 }
  })
}
