/** The ledger of a scenario: every write that was sent, with its answer. */
import type { CallResult } from './http.ts'

/** The kinds of records that the load creates. */
export const WRITTEN_KINDS = ['department', 'user', 'patient'] as const
export type WrittenKind = (typeof WRITTEN_KINDS)[number]

/** A request of the load with its answer. */
export interface LedgerEntry {
  node: string
  kind: WrittenKind | 'block'
  status: number | null
  hasRetryAfter: boolean
  detail: string
  /** The ID of the created or blocked record. */
  id: number | undefined
  sentAt: number
  answeredAt: number
}

/** A blocked user, and the later answers of the other node to them. */
export interface BlockRecord {
  userId: number
  blockedOn: string
  acknowledgedAt: number
  probes: { sentAt: number; status: number | null }[]
}

/** A write that the harness makes over its own connection, without the service. */
export interface Beat {
  at: number
  succeeded: boolean
}

/** Everything that a scenario observes from outside. */
export interface Ledger {
  readonly entries: LedgerEntry[]
  readonly blocks: BlockRecord[]
  readonly beats: Beat[]
  record(node: string, kind: LedgerEntry['kind'], result: CallResult, id?: number): void
}

/** Opens an empty ledger. */
export function openLedger(): Ledger {
  const entries: LedgerEntry[] = []
  return {
    entries,
    blocks: [],
    beats: [],
    record(node, kind, { status, retryAfter, body, sentAt, answeredAt }, id) {
      const detail = typeof body?.detail === 'string' ? body.detail : ''
      const hasRetryAfter = retryAfter !== null
      entries.push({ node, kind, status, hasRetryAfter, detail, id, sentAt, answeredAt })
    },
  }
}

/** True when the write was acknowledged. */
export const isAcknowledged = ({ status }: LedgerEntry): boolean =>
  status !== null && status >= 200 && status < 300

/** Returns the IDs of the records whose writes were acknowledged, of a kind. */
export function acknowledgedIds({ entries }: Ledger, kind: LedgerEntry['kind']): number[] {
  return entries.flatMap((entry) =>
    entry.kind === kind && isAcknowledged(entry) && entry.id !== undefined ? [entry.id] : [],
  )
}
