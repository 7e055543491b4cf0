/**
 * Seals anew what retired keys have sealed, on every node that works: a batch's rows are locked by it and
 * skipped by the others, so that they share even one tenant. Where it is, is in the rows themselves: those
 * that are done name another key. So whoever comes after a crash goes on where it ended.
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { poller } from '../../lib/poller.ts'
import {
  type KeyRing,
  type KeyRotation,
  type OpenedRow,
  placeIn,
  type SealedTable,
  type TenantKeys,
  UnreadableError,
} from '../../platform/crypto/index.ts'
import { type Changes, logFailures, type Scopes, type TenantTx } from '../../platform/db/index.ts'
import type { Background } from '../../platform/feature.ts'
import { SYSTEM } from '../../platform/journal/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import type { Rotation } from './encryption.schema.ts'
import { note } from './encryption.service.ts'
import * as rotations from './rotations.store.ts'
import * as store from './sweep.store.ts'

const BATCH = 100
const TOKENS = 2_000
/** The event loop is held for no longer. */
const SLICE_MS = 2
/** How long the event loop may have kept others waiting before the sweep rests as long as it worked. */
const BUSY_MS = 10
const POLL_MS = 5_000
/** Between two looks for rows that others hold. */
const AGAIN_MS = 500

export interface SweepDeps {
  db: Scopes
  log: Logger
  keyRing: KeyRing
  changes: Pick<Changes, 'subscribe'>
  keys: KeyRotation
  sealed: readonly SealedTable[]
}

interface Outcome {
  last: store.Position
  failed: string[]
  done: number
}

export function startSweep(deps: SweepDeps): Background {
  const { db, log, changes } = deps
  let isStopping = false

  async function look(): Promise<boolean | number> {
    const rotation = await db.acrossTenants(rotations.findLatest, 'read')
    if (rotation?.status !== 'running') return false
    const failed = new Set<string>()
    for (const table of deps.sealed) await sweepTable(table, rotation, failed)
    if (isStopping) return false
    return (await end(deps, rotation, failed)) ? false : AGAIN_MS
  }

  async function sweepTable(table: SealedTable, rotation: Rotation, failed: Set<string>) {
    for (const key of await db.acrossTenants((tx) => store.keysLeft(tx, table.table), 'read')) {
      let after: store.Position = null
      do {
        if (isStopping) return
        const begun = performance.now()
        const from: store.Position = after
        const outcome: Outcome = await db.acrossTenants((tx) =>
          batch(deps, tx, rotation, table, key, from),
        )
        for (const name of outcome.failed) failed.add(name)
        after = outcome.last
        await rest(performance.now() - begun)
      } while (after !== null)
    }
  }

  const looks = poller(look, { pollMs: POLL_MS, onError: logFailures('sealing anew', log) })
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === 'keys') looks.wake()
  })
  return {
    stop() {
      isStopping = true
      unsubscribe()
      return looks.stop()
    },
  }
}

/** Lets whoever waits for the event loop go first; where they have waited long, for as long as the batch took. */
async function rest(workedMs: number): Promise<void> {
  const asked = performance.now()
  await turn()
  if (performance.now() - asked > BUSY_MS) await delay(workedMs)
}

/** Seals some rows anew. Its last position is null where there are no more. */
async function batch(
  { keyRing, log }: SweepDeps,
  tx: TenantTx,
  { rotation_id }: Rotation,
  table: SealedTable,
  key: store.OldKey,
  after: store.Position,
): Promise<Outcome> {
  const keys = await keyRing.ofTenant(tx, key.tenant_id)
  const rows = await store.lockRows(tx, table, key.id, after, BATCH)
  const opened: OpenedRow[] = []
  const values: (Buffer | null)[][] = table.columns.map(() => [])
  const failed: string[] = []
  let since = performance.now()
  for (const found of rows) {
    try {
      const row = reseal(table, keys, found)
      row.sealed.forEach((value, index) => void values[index]?.push(value))
      opened.push(row.opened)
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      failed.push(`${table.table}:${found.$id}`)
      log.error({ table: table.table, row: found.$id }, `not sealed anew: ${error.message}`)
    }
    if (performance.now() - since > SLICE_MS) {
      await turn()
      since = performance.now()
    }
  }
  if (opened.length > 0) {
    await table.tokens?.add(tx, keys, opened)
    await store.writeSealed(
      tx,
      table,
      opened.map(({ id }) => id),
      values,
    )
    await rotations.addDone(tx, rotation_id, opened.length)
  }
  const last = rows.length < BATCH ? null : ((rows.at(-1)?.$id ?? null) as store.Position)
  return { last, failed, done: opened.length }
}

/** @throws UnreadableError when one of its values does not open */
function reseal(
  table: SealedTable,
  keys: TenantKeys,
  found: Record<string, Buffer | null | string | number>,
): { opened: OpenedRow; sealed: (Buffer | null)[] } {
  const place = (column: string) => placeIn(table, column, found.$row as string | number)
  const values = Object.fromEntries(
    table.columns.map((column) => {
      const sealed = found[column] as Buffer | null
      return [column, sealed && keys.open(sealed, place(column))]
    }),
  )
  const sealed = table.columns.map((column) => {
    const value = values[column]
    return value ? keys.seal(value, place(column)) : null
  })
  return { opened: { id: found.$id as number, tenantId: keys.tenantId, values }, sealed }
}

/** Ends the rotation where nothing is left but what does not open. Returns whether it has. */
async function end(deps: SweepDeps, rotation: Rotation, failed: ReadonlySet<string>) {
  const { db, sealed, keys } = deps
  const isEarly = (tx: TenantTx) => rotations.hasEarlierWriters(tx, rotation.started_at as string)
  if (await db.acrossTenants(isEarly, 'read')) return false
  const left = await db.acrossTenants((tx) => countLeft(tx, sealed), 'read')
  if (left !== failed.size) return false
  if (left === 0) await deleteTokens(deps)
  return db.acrossTenants(async (tx) => {
    await rotations.lockRotations(tx)
    const last = await rotations.findLatest(tx)
    // Another node has ended it.
    if (last?.status !== 'running') return true
    if ((await countLeft(tx, sealed)) !== left) return false
    if (left === 0) await keys.end(tx)
    const status = left === 0 ? 'completed' : 'failed'
    const reason = left === 0 ? null : `${left} records do not open; the log names them`
    const ended = await rotations.finish(tx, last.rotation_id, { status, failed: left, reason })
    await note(tx, SYSTEM, status, ended)
    return true
  })
}

async function countLeft(tx: TenantTx, sealed: readonly SealedTable[]): Promise<number> {
  let left = 0
  for (const { table } of sealed) left += await store.countLeft(tx, table)
  return left
}

async function deleteTokens({ db, sealed }: SweepDeps): Promise<void> {
  for (const { tokens } of sealed)
    if (tokens)
      while (await db.acrossTenants((tx) => store.deleteTokens(tx, tokens.table, TOKENS)));
}
