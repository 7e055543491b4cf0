/** Scans for every fix in the catalogue, one after the other. Only one node scans at a time. */
import { isoAt, SECOND } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import { openLockConnection, type PgConnection } from '../../../platform/db/index.ts'
import type { Fix } from '../../../platform/feature/fix.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import { findFix, listFixes, saveScan } from '../fixes.store.ts'
import { type ScanDeps, type Scanned, scanFix } from './scan-fix.ts'

export interface Scan {
  at: string
  duration_ms: number
  fixes: Scanned[]
}

interface Deps extends ScanDeps {
  clock: Time
  fixes: ReadonlyMap<string, Fix>
  openConnection(): PgConnection
}

export interface ScanOptions {
  signal?: AbortSignal
  /** True if no caller waits for the scan, which then pauses after each fix to leave time for requests. */
  isPatient?: boolean
  /** Called before each check, with the title of its fix and the number of checks before it. */
  onProgress?(title: string, done: number, total: number): void
}

/** The lock number of the whole scan. The lock number of a single fix is its id. */
const WHOLE = 0
/** The pause after a fix, as a multiple of the fix's time. With this value, the scan works a tenth of the time. */
const REST_TIMES = 9
const MAX_REST_MS = 2 * SECOND

/**
 * Runs one scan. Returns undefined if a scan is already running on any node.
 * @throws on database errors, or the signal's reason if it aborts. Results that were recorded before stay stored.
 */
export async function runScan(
  deps: Deps,
  { signal, isPatient = false, onProgress }: ScanOptions = {},
): Promise<Scan | undefined> {
  const { db, clock, log, fixes } = deps
  const holder = await openLockConnection(deps.openConnection())
  try {
    if (!(await holder.take('fixes', WHOLE))) return undefined
    const ending = AbortSignal.any([holder.lost, ...(signal ? [signal] : [])])
    const [at, begun] = [isoAt(clock), clock.monotonic()]
    const scanned: Scanned[] = []
    const all = await db.acrossTenants((tx) => listFixes(tx, [...fixes.keys()]), 'read')
    for (const [done, { id, title }] of all.entries()) {
      ending.throwIfAborted()
      onProgress?.(title, done, all.length)
      const since = clock.monotonic()
      // Skips a fix that is being confirmed, because the confirmation records the result itself.
      if (!(await holder.take('fixes', id))) continue
      try {
        // Reads the row under the lock, because a confirmation may have ended in the meantime.
        const row = await db.acrossTenants((tx) => findFix(tx, id, [...fixes.keys()]), 'read')
        const fix = row && fixes.get(row.key)
        if (row && fix) scanned.push(await scanFix(deps, row, fix, ending))
      } finally {
        await holder.release('fixes', id)
      }
      const rest = Math.min((clock.monotonic() - since) * REST_TIMES, MAX_REST_MS)
      if (isPatient) await clock.delay(rest, { signal: ending })
    }
    const duration_ms = Math.round(clock.monotonic() - begun)
    const unknown = scanned.filter((one) => one.unknown !== null).length
    await db.acrossTenants((tx) =>
      saveScan(tx, { at, duration_ms, looked_at: scanned.length, unknown }),
    )
    return { at, duration_ms, fixes: scanned }
  } finally {
    await canFail(holder.close(), 'closing of a scan connection', log)
  }
}
