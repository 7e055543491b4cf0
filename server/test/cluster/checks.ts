/** Judges the observations of a scenario. Each check returns the faults as sentences. */
import { type Beat, type BlockRecord, isAcknowledged, type LedgerEntry } from './ledger.ts'

/** The time within which every node must start to refuse a blocked user. */
export const BLOCK_BOUND_MS = 1_000
/** The time after the election of a leader within which both nodes must write again. */
export const RETURN_BOUND_MS = 2_000

const list = (ids: readonly (number | string)[]): string =>
  ids.slice(0, 5).join(', ') + (ids.length > 5 ? ', …' : '')

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/**
 * Reports answers other than 2xx and other than 503 with `Retry-After`.
 * @param accepted further accepted statuses, such as 401 after all sessions ended
 */
export function answerFaults(
  entries: readonly LedgerEntry[],
  accepted: readonly number[] = [],
): string[] {
  const counts = new Map<string, { count: number; first: LedgerEntry }>()
  for (const entry of entries) {
    if (isAcknowledged(entry) || (entry.status === 503 && entry.hasRetryAfter)) continue
    if (entry.status !== null && accepted.includes(entry.status)) continue
    const what =
      entry.status === null
        ? 'without an answer'
        : `answered ${entry.status}${entry.status === 503 ? ' without Retry-After' : ''}`
    const name = `${what} by node ${entry.node}`
    const known = counts.get(name)
    counts.set(name, { count: (known?.count ?? 0) + 1, first: known?.first ?? entry })
  }
  return [...counts].map(
    ([name, { count, first }]) =>
      `${count} requests ${name} (${first.kind}${first.detail ? `: ${first.detail}` : ''})`,
  )
}

/** Reports acknowledged records that the database does not have. */
export function lostWriteFaults(
  kind: string,
  acknowledged: readonly number[],
  stored: ReadonlySet<number>,
): string[] {
  const lost = acknowledged.filter((id) => !stored.has(id))
  if (lost.length === 0) return []
  return [
    `${lost.length} of ${acknowledged.length} acknowledged writes of ${kind}s are lost (${list(lost)})`,
  ]
}

/** Reports two faults: losses that the service did not report, and a loss report although no write was lost. */
export function reportFaults(losses: readonly string[], isReported: boolean): string[] {
  if (!isReported) return losses.map((loss) => `${loss}, and the service did not report it`)
  return losses.length > 0 ? [] : ['the service reported lost writes, and none are lost']
}

/** Reports rows without exactly one journal entry, and entries without a row. */
export function journalFaults(
  kind: string,
  rows: readonly number[],
  entries: ReadonlyMap<number, number>,
): string[] {
  const known = new Set(rows)
  const without = rows.filter((id) => !entries.has(id))
  const repeated = [...entries].flatMap(([id, count]) => (count > 1 ? [id] : []))
  const orphans = [...entries.keys()].filter((id) => !known.has(id))
  return [
    without.length > 0
      ? `${without.length} ${kind}s without a journal entry (${list(without)})`
      : '',
    repeated.length > 0
      ? `${repeated.length} ${kind}s with several journal entries (${list(repeated)})`
      : '',
    orphans.length > 0
      ? `${orphans.length} journal entries without their ${kind} (${list(orphans)})`
      : '',
  ].filter((fault) => fault !== '')
}

/**
 * Reports events that never arrived, unknown events, and IDs with several bodies.
 * @param hasLost whether the database lost events whose messages had already been sent. These events are then unknown.
 */
export function webhookFaults(
  expected: readonly string[],
  received: ReadonlyMap<string, ReadonlySet<string>>,
  hasLost = false,
): string[] {
  const known = new Set(expected)
  const missing = expected.filter((id) => !received.has(id))
  const unknown = [...received.keys()].filter((id) => !known.has(id))
  const differing = [...received].flatMap(([id, bodies]) => (bodies.size > 1 ? [id] : []))
  return [
    missing.length > 0
      ? `${missing.length} webhook messages did not arrive (${list(missing)})`
      : '',
    unknown.length > 0 && !hasLost
      ? `${unknown.length} webhook messages of events that the journal does not have (${list(unknown)})`
      : '',
    differing.length > 0
      ? `${differing.length} webhook ids with several bodies (${list(differing)})`
      : '',
  ].filter((fault) => fault !== '')
}

/** Reports blocked users whom the other node still served after the bound. */
export function blockFaults(blocks: readonly BlockRecord[]): string[] {
  const late = blocks.flatMap(({ userId, acknowledgedAt, probes }) => {
    const admitted = probes.filter(
      ({ sentAt, status }) =>
        sentAt >= acknowledgedAt + BLOCK_BOUND_MS && status !== null && status < 300,
    )
    const last = admitted.at(-1)
    return last ? [{ userId, after: last.sentAt - acknowledgedAt }] : []
  })
  if (late.length === 0) return []
  const longest = Math.max(...late.map(({ after }) => after))
  return [
    `${late.length} of ${blocks.length} blocked users were let in by the other node, up to ${seconds(longest)} after their block (${list(late.map(({ userId }) => userId))})`,
  ]
}

/**
 * Returns how long, at most, the database accepted writes while a node acknowledged none.
 * @param until the end of the load
 */
export function returnDelay(
  beats: readonly Beat[],
  acknowledgedAt: readonly number[],
  until: number,
): number {
  const events = [
    ...beats.map(({ at, succeeded }) => ({ at, event: succeeded ? 'beat' : 'outage' })),
    ...[...acknowledgedAt, until].map((at) => ({ at, event: 'write' })),
  ].sort((one, other) => one.at - other.at)
  let longest = 0
  let since: number | undefined
  for (const { at, event } of events) {
    if (at > until) break
    if (event === 'beat') since ??= at
    else {
      if (event === 'write' && since !== undefined) longest = Math.max(longest, at - since)
      since = undefined
    }
  }
  return longest
}

/** Reports a node that resumed writing too late. */
export function returnFaults(node: string, delayMs: number): string[] {
  if (delayMs <= RETURN_BOUND_MS) return []
  return [`node ${node} wrote nothing for ${seconds(delayMs)} while the leader accepted writes`]
}

/** The longest time between two moments, in milliseconds. */
export function longestPause(moments: readonly number[]): number {
  const sorted = [...moments].sort((one, other) => one - other)
  return sorted
    .slice(1)
    .reduce((longest, at, index) => Math.max(longest, at - (sorted[index] ?? at)), 0)
}

/** Reports connections beyond the maximum of the nodes, and connections that stayed on a standby. */
export function connectionFaults(
  bound: number,
  { leader, standbys }: { leader: number; standbys: number },
): string[] {
  return [
    leader > bound ? `${leader} connections to the leader, above the bound of ${bound}` : '',
    standbys > 0 ? `${standbys} connections to standbys` : '',
  ].filter((fault) => fault !== '')
}

/** Reports new findings of self-healing. A fault of the cluster must not cause any. */
export function findingFaults(before: ReadonlySet<string>, found: readonly string[]): string[] {
  const untrue = [...new Set(found)].filter((key) => !before.has(key))
  return untrue.length > 0 ? [`self-healing reported ${untrue.join(', ')}`] : []
}
