/**
 * Re-encrypts the data of retired keys on every active node. Each batch locks its rows and skips rows that other nodes
 * have locked, so several nodes can share the work even for one tenant. The progress need not be recorded, because
 * re-encrypted rows use another key. After a crash, any node continues.
 */
import { poller } from '../../lib/poller.ts'
import { type KeyRing, type SealedTable, UnreadableError } from '../../platform/crypto/index.ts'
import { type Changes, logFailures, openPacer, type Pacer } from '../../platform/db/index.ts'
import type { Background } from '../../platform/feature/feature.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { type EndDeps, ending } from './finish-rotation.ts'
import { openPipeline } from './pipeline.ts'
import { type Batch, type Locked, reencrypt } from './re-encrypt-batch.ts'
import * as store from './re-encryption.store.ts'
import { findRunningRotation, type Running } from './rotations.store.ts'

/** The number of rows in a batch. Batches of large rows contain fewer. */
const ROWS = 50
/**
 * The number of batches that an idle service processes at a time: one is written while the next is read and encrypted.
 */
const LANES = 2
/** The approximate size limit of a batch. Writing more at a time would block the event loop. */
const BYTES = 256 * 1024
/** Limits for pauses, stricter than those of a backup, because a batch locks rows that requests may need. */
const PACER_LIMITS = { perTransaction: 6, max: 8, idle: 0.3 }
const POLL_MS = 5_000
/** How long to wait before polling again for rows that other transactions have locked. */
const AGAIN_MS = 500

export interface SweepDeps extends EndDeps {
  keyRing: KeyRing
  changes: Pick<Changes, 'subscribe'>
}

export function startSweep(deps: SweepDeps): Background {
  const { db, log, changes } = deps
  const failures = failuresIn(log)
  const { waitsFor, logWaiting, end } = ending(deps)
  let isStopping = false
  /** The name of the transactions for which the rotation was waiting when a pass found no rows. */
  let settled: string | undefined

  async function poll(): Promise<boolean | number> {
    const rotation = await db.acrossTenants(findRunningRotation)
    if (!rotation) return false
    const waiting = await waitsFor(rotation)
    // A pass would find only dead rows: the awaited transactions can still add old keys, but none has ended since.
    if (waiting && waiting.name === settled) return AGAIN_MS
    const pass = failures.passOf(rotation)
    const pacer = openPacer(db, PACER_LIMITS)
    const isLeft = await sweepAll({ rotation, pass, pacer })
    if (isStopping) return false
    settled = isLeft ? undefined : waiting?.name
    if (waiting) {
      logWaiting(waiting)
      return AGAIN_MS
    }
    const control = { pacer, isStopping: () => isStopping }
    return (await end(pass.failed.size, control)) ? false : AGAIN_MS
  }

  /** Re-encrypts the rows of all tables. Returns false if no rows were left. */
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
    { rotation, pass, pacer }: Walk,
  ) {
    const lanes = openPipeline(LANES)
    let isBesideOthers = false
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
          pacer.own(() => reencrypt(deps, batch, from, most, onLocked)),
        )
        after = locked.last
        limit = Math.max(1, Math.min(ROWS, Math.floor((BYTES * locked.rows) / locked.bytes)))
        if (isBesideOthers) await lanes.end()
        isBesideOthers = await pacer.rest()
      } while (after !== null)
    }
    await lanes.end()
  }

  const polling = poller(poll, {
    clock: db.clock,
    pollMs: POLL_MS,
    onError: logFailures('re-encryption', log),
  })
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === 'keys') polling.wake()
  })
  return {
    idle: polling.idle,
    stop() {
      isStopping = true
      unsubscribe()
      return polling.stop()
    },
  }
}

/** One pass over all rows that remain to be re-encrypted. */
interface Walk {
  rotation: Running
  pass: Pass
  pacer: Pacer
}

/** Collects the rows that could not be re-encrypted in this pass. */
interface Pass {
  readonly failed: ReadonlySet<string>
  add(table: string, id: store.RowId, error: unknown): void
}

/** Logs each failed row only once, until an administrator starts the rotation again. */
function failuresIn(log: Logger) {
  let logged = { of: '', rows: new Set<string>() }
  return {
    passOf({ rotation_id, seen_at }: Running): Pass {
      const of = `${rotation_id} ${seen_at}`
      if (logged.of !== of) logged = { of, rows: new Set() }
      const failed = new Set<string>()
      return {
        failed,
        add(table, row, error) {
          const name = `${table}:${row}`
          failed.add(name)
          if (logged.rows.has(name)) return
          logged.rows.add(name)
          log.error({ table, row }, `record not re-encrypted: ${whyOf(error)}`)
        },
      }
    },
  }
}

/** Returns the cause of a failure without the contents of the row. Error messages of the database may contain them. */
function whyOf(error: unknown): string {
  if (error instanceof UnreadableError) return error.message
  const { code, constraint, name } = error as Error & { code?: string; constraint?: string }
  return constraint ?? code ?? name
}
