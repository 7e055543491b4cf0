/**
 * Begins new epochs of the logs after an older copy replaced the database (ADR 0042). Further heads of the old epochs
 * would confirm a second history.
 */
import { Tiles, tilesForRoot } from '../../../lib/merkle/tree.ts'
import type { Changes, Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { Background } from '../../../platform/feature/feature.ts'
import {
  appendAll,
  follow,
  type NewEntry,
  readOwn,
  SYSTEM,
} from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { writeOrigin } from '../offline/index.ts'
import type { AuditKeys } from './audit-key.ts'
import { EPOCH_STARTED } from './leaf.ts'
import * as store from './logs.store.ts'
import type { OutsideHead, OutsideHeads } from './outside-heads.ts'
import { SEALER, sealEntries } from './sealer.ts'
import { storedRoot } from './verified-root.ts'

export interface EpochDeps {
  db: Scopes
  log: Logger
  outside: OutsideHeads
  keys: AuditKeys
}

/** Begins new epochs of all logs if a kept head shows that the database is an older copy. */
export async function beginEpochs({ db, log, outside, keys }: EpochDeps): Promise<void> {
  const heads = await outside.list()
  if (heads.length === 0) return
  await keys.prepare()
  const begun = await db.acrossTenants(async (tx) => {
    const [{ name }] = await keys.signers(tx)
    const logs = await store.lockLogs(tx)
    return (await isOlderCopy(tx, { logs, heads, name }))
      ? replaceLogs(tx, { logs, heads, name })
      : 0
  })
  if (begun > 0)
    log.error(
      { logs: begun },
      'database is older than the signed audit heads; new epochs of the audit logs begun',
    )
}

interface Evidence {
  logs: readonly store.LogRow[]
  heads: readonly OutsideHead[]
  name: string
}

/** Returns whether a log does not continue the history of its kept head. */
async function isOlderCopy(tx: TenantTx, { logs, heads, name }: Evidence): Promise<boolean> {
  const logOf = new Map(logs.map((row) => [row.tenant_id, row]))
  const kept = heads.flatMap((head) => {
    const row = logOf.get(head.tenant_id)
    return row ? [{ head, row }] : []
  })
  return kept.length < heads.length || !(await continueHeads(tx, kept, name))
}

/** Returns whether all logs continue the histories of their kept heads. @param name the name of the signing key */
export async function continueHeads(
  tx: TenantTx,
  kept: readonly { head: OutsideHead; row: store.LogRow }[],
  name: string,
): Promise<boolean> {
  const current = kept.filter(({ head, row }) => row.epoch <= head.epoch)
  if (current.some(({ head, row }) => isAhead(head, row, name))) return false
  const tiles = await store.loadTiles(
    tx,
    current.flatMap(({ head: { tenant_id, epoch, size } }) =>
      tilesForRoot(size).map((place) => ({ tenant_id, epoch, ...place })),
    ),
  )
  return current.every(({ head: { tenant_id, size, root } }) =>
    storedRoot(tiles.get(tenant_id) ?? new Tiles(), size)?.equals(root),
  )
}

/** Returns whether a kept head is of a later state than the log in the database. */
const isAhead = (
  head: OutsideHead,
  row: Pick<store.LogRow, 'epoch' | 'size'>,
  name: string,
): boolean =>
  head.epoch > row.epoch ||
  (head.epoch === row.epoch && (head.installation !== name || head.size > row.size))

/** Ends all logs and begins their next epochs, each with an entry that names the last known head. */
async function replaceLogs(tx: TenantTx, { logs, heads, name }: Evidence): Promise<number> {
  const headOf = new Map(heads.map((head) => [head.tenant_id, head]))
  const tiles = await store.loadTiles(
    tx,
    logs.flatMap(({ tenant_id, epoch, size }) =>
      tilesForRoot(size).map((place) => ({ tenant_id, epoch, ...place })),
    ),
  )
  const lost = heads
    .filter(({ tenant_id }) => !logs.some((row) => row.tenant_id === tenant_id))
    .map(({ tenant_id }) => ({ tenant_id, epoch: 0, size: 0, head_size: 0, head_root: null }))
  const next = [...logs, ...lost].map((row) => {
    const { tenant_id, epoch, size, head_size, head_root } = row
    const head = headOf.get(tenant_id)
    const origin = writeOrigin({ name, tenant_id, epoch })
    const stored = head_root && { origin, size: head_size, root: head_root }
    return {
      tenant_id,
      epoch: Math.max(epoch, head?.epoch ?? 0) + 1,
      former: inJson(head ?? stored),
      restored:
        size > 0
          ? inJson({ origin, size, root: storedRoot(tiles.get(tenant_id) ?? new Tiles(), size) })
          : null,
    }
  })
  await store.replaceLogs(tx, next)
  appendAll(
    tx,
    SYSTEM,
    next.map(
      ({ tenant_id, ...changes }): NewEntry => ({
        action: EPOCH_STARTED,
        tenant_id: tenant_id === store.PLATFORM_LOG ? null : tenant_id,
        resource_type: 'audit_log',
        resource_id: tenant_id,
        changes,
      }),
    ),
  )
  // Sealed at once, because each is the first leaf of its epoch.
  await sealEntries(tx, await readOwn(tx, EPOCH_STARTED))
  return next.length
}

/** Returns a head for the changes of an entry. @param head its root is undefined if tiles are missing */
const inJson = (head: { origin: string; size: number; root: Buffer | undefined } | null) =>
  head && { origin: head.origin, size: head.size, root: head.root?.toString('base64') ?? null }

/** Seals entries in the background, after the first check that the database is not an older copy. */
export function sealsAfterEpochs(deps: EpochDeps & { changes: Changes }): Background {
  const { db, log, changes } = deps
  let checking: Promise<void> | undefined
  const checked = (): Promise<void> => {
    checking ??= beginEpochs(deps).catch((error: unknown) => {
      checking = undefined
      throw error
    })
    return checking
  }
  const first = checked().catch((error: unknown) =>
    log.error({ err: error }, 'audit epochs not checked'),
  )
  // After the first check, which notices an older copy also if there is nothing to seal. The sealer repeats a failed one.
  const following = first.then(() =>
    follow(db, log, {
      ...SEALER,
      changes,
      async handle(tx, entries) {
        await checked()
        return SEALER.handle(tx, entries)
      },
    }),
  )
  return {
    idle: async () => (await following).idle(),
    stop: async () => (await following).stop(),
  }
}
