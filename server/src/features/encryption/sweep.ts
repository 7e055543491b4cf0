/**
 * Seals anew what retired keys have sealed, on every node that works: a batch's rows are locked by it and
 * skipped by the others, so that they share even one tenant. Where it is, is in the rows themselves: those
 * that are done name another key. So whoever comes after a crash goes on where it ended.
 */
import { poller } from '../../lib/poller.ts'
import { type KeyRing, type SealedTable, UnreadableError } from '../../platform/crypto/index.ts'
import { type Changes, logFailures } from '../../platform/db/index.ts'
import type { Background } from '../../platform/feature.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { type Batch, type Locked, sealAnew } from './batch.ts'
import { type EndDeps, ending } from './end.ts'
import { openLanes } from './lanes.ts'
import { openPace, type Pace } from './pace.ts'
import { findRunning, type Running } from './rotations.store.ts'
import * as store from './sweep.store.ts'

/** Rows of a batch, where they are small. */
const ROWS = 50
/** Batches under way at once where nobody else is there: while one is written, the next is read and sealed. */
const LANES = 2
/** What it takes to write more at once would hold the event loop. */
const BYTES = 256 * 1024
const POLL_MS = 5_000
/** Between two looks for rows that others hold. */
const AGAIN_MS = 500

export interface SweepDeps extends EndDeps {
  keyRing: KeyRing
  changes: Pick<Changes, 'subscribe'>
}

export function startSweep(deps: SweepDeps): Background {
  const { db, log, changes } = deps
  const failures = failuresIn(log)
  const { waitsFor, tell, end } = ending(deps)
  let isStopping = false
  /** Whom it waited for when nothing was left. */
  let settled: string | undefined

  async function look(): Promise<boolean | number> {
    const rotation = await db.acrossTenants(findRunning)
    if (!rotation) return false
    const waiting = await waitsFor(rotation)
    // What else may come comes by one of them: until one is done, there are rows that are dead alone to read.
    if (waiting && waiting.name === settled) return AGAIN_MS
    const pass = failures.passOf(rotation)
    const pace = openPace(db)
    try {
      const isLeft = await sweepAll({ rotation, pass, pace })
      if (isStopping) return false
      settled = isLeft ? undefined : waiting?.name
      if (waiting) {
        tell(waiting)
        return AGAIN_MS
      }
      const going = { pace, isStopping: () => isStopping }
      return (await end(pass.failed.size, going)) ? false : AGAIN_MS
    } finally {
      pace.stop()
    }
  }

  /** Returns whether there was anything to seal anew. */
  async function sweepAll(walk: Walk): Promise<boolean> {
    let isLeft = false
    for (const table of deps.sealed) {
      const keys = await db.acrossTenants((tx) => store.keysLeft(tx, table.table), 'read')
      if (keys.length > 0) isLeft = true
      await sweepTable(table, keys, walk)
    }
    return isLeft
  }

  async function sweepTable(
    table: SealedTable,
    keys: readonly store.OldKey[],
    { rotation, pass, pace }: Walk,
  ) {
    const lanes = openLanes(LANES)
    for (const key of keys) {
      const onFailed: Batch['onFailed'] = (id, error) => pass.add(table.table, id, error)
      const batch: Batch = { table, key, rotationId: rotation.rotation_id, onFailed }
      let limit = ROWS
      let after: store.Position = null
      do {
        if (isStopping) return lanes.end()
        const from: store.Position = after
        const most = limit
        const locked: Locked = await lanes.begin((onLocked) =>
          pace.work(() => sealAnew(deps, batch, from, most, onLocked)),
        )
        after = locked.last
        limit = Math.max(1, Math.min(ROWS, Math.floor((BYTES * locked.rows) / locked.bytes)))
        if (await pace.rest()) await lanes.end()
      } while (after !== null)
    }
    await lanes.end()
  }

  const looks = poller(look, {
    clock: db.clock,
    pollMs: POLL_MS,
    onError: logFailures('sealing anew', log),
  })
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === 'keys') looks.wake()
  })
  return {
    idle: looks.idle,
    stop() {
      isStopping = true
      unsubscribe()
      return looks.stop()
    },
  }
}

/** One walk over all that is left. */
interface Walk {
  rotation: Running
  pass: Pass
  pace: Pace
}

/** The rows that a walk could not seal anew. */
interface Pass {
  readonly failed: ReadonlySet<string>
  add(table: string, id: store.RowId, error: unknown): void
}

/** Names each failed row in the log once, until the rotation is asked for again. */
function failuresIn(log: Logger) {
  let told = { of: '', rows: new Set<string>() }
  return {
    passOf({ rotation_id, seen_at }: Running): Pass {
      const of = `${rotation_id} ${seen_at}`
      if (told.of !== of) told = { of, rows: new Set() }
      const failed = new Set<string>()
      return {
        failed,
        add(table, row, error) {
          const name = `${table}:${row}`
          failed.add(name)
          if (told.rows.has(name)) return
          told.rows.add(name)
          log.error({ table, row }, `not sealed anew: ${whyOf(error)}`)
        },
      }
    },
  }
}

/** Without what the row holds, which the database's own sentences tell. */
function whyOf(error: unknown): string {
  if (error instanceof UnreadableError) return error.message
  const { code, constraint, name } = error as Error & { code?: string; constraint?: string }
  return constraint ?? code ?? name
}
