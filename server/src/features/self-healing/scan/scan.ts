/** A scan: every fix of the catalogue, one after the other, on one node at a time. */
import { isoAt, SECOND } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import { type Connection, openHolder } from '../../../platform/db/index.ts'
import type { Fix } from '../../../platform/fix.ts'
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
  openConnection(): Connection
}

/** How a scan is run. */
export interface ScanOptions {
  /** Ends it. */
  signal?: AbortSignal
  /** Whether nobody waits for it: behind each fix it rests, so that requests feel little of it. */
  isPatient?: boolean
}

/** The number of the scan's own lock; those of fixes are their ids. */
const WHOLE = 0
/** As many times as long as the fix took that it rests behind: a tenth of the time it is at work. */
const REST_TIMES = 9
const REST_AT_MOST_MS = 2 * SECOND

/**
 * Scans once. Returns undefined where another one is under way, on whichever node.
 * @throws where the database goes away or the signal ends it: what was scanned so far holds
 */
export async function scan(
  deps: Deps,
  { signal, isPatient = false }: ScanOptions = {},
): Promise<Scan | undefined> {
  const { db, clock, log, fixes } = deps
  const holder = await openHolder(deps.openConnection())
  try {
    if (!(await holder.take('fixes', WHOLE))) return undefined
    const ending = AbortSignal.any([holder.lost, ...(signal ? [signal] : [])])
    const [at, begun] = [isoAt(clock), clock.monotonic()]
    const scanned: Scanned[] = []
    for (const { id } of await db.acrossTenants((tx) => listFixes(tx, [...fixes.keys()]), 'read')) {
      ending.throwIfAborted()
      const since = clock.monotonic()
      // It is being confirmed: whoever does will say how it ended.
      if (!(await holder.take('fixes', id))) continue
      try {
        // Read under its lock: a confirmation may just have ended.
        const row = await db.acrossTenants((tx) => findFix(tx, id, [...fixes.keys()]), 'read')
        const fix = row && fixes.get(row.key)
        if (row && fix) scanned.push(await scanFix(deps, row, fix, ending))
      } finally {
        await holder.release('fixes', id)
      }
      const rest = Math.min((clock.monotonic() - since) * REST_TIMES, REST_AT_MOST_MS)
      if (isPatient) await clock.delay(rest, { signal: ending })
    }
    const duration_ms = Math.round(clock.monotonic() - begun)
    const unknown = scanned.filter((one) => one.unknown !== null).length
    await db.acrossTenants((tx) =>
      saveScan(tx, { at, duration_ms, looked_at: scanned.length, unknown }),
    )
    return { at, duration_ms, fixes: scanned }
  } finally {
    await canFail(holder.close(), "closing a scan's connection", log)
  }
}
