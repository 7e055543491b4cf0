/** Every state that the API returns, with its tone and a word for it. `StatusBadge` shows them. */

/** The meaning of a state for the reader. Each tone has its own shape. */
export type Tone = 'ok' | 'attention' | 'failed' | 'waiting' | 'off'

/** The tone and the word of a state. */
export interface StatusWord {
  readonly tone: Tone
  readonly word: string
}

const status = (tone: Tone, word: string): StatusWord => ({ tone, word })

const statuses = {
  user: {
    active: status('ok', 'Active'),
    blocked: status('off', 'Blocked'),
    pending: status('waiting', 'Waiting for approval'),
  },
  tenant: {
    active: status('ok', 'Active'),
    inactive: status('off', 'Inactive'),
    deleted: status('failed', 'Deleted'),
  },
  factor: {
    on: status('ok', 'On'),
    off: status('off', 'Off'),
  },
  webhook: {
    active: status('ok', 'Active'),
    failing: status('failed', 'Failing'),
    inactive: status('off', 'Inactive'),
  },
  delivery: {
    delivered: status('ok', 'Delivered'),
    failed: status('failed', 'Failed'),
    pending: status('waiting', 'Waiting'),
    held: status('off', 'Held'),
  },
  replay: {
    completed: status('ok', 'Completed'),
    cancelled: status('off', 'Cancelled'),
    failed: status('failed', 'Failed'),
    running: status('waiting', 'Running'),
  },
  backup: {
    tested: status('ok', 'Tested'),
    completed: status('ok', 'Completed'),
    failed: status('failed', 'Failed'),
    queued: status('waiting', 'Queued'),
    running: status('waiting', 'Running'),
  },
  rotation: {
    completed: status('ok', 'Completed'),
    failed: status('failed', 'Failed'),
    idle: status('off', 'Not running'),
    running: status('waiting', 'Running'),
  },
  repair: {
    idle: status('ok', 'OK'),
    applied: status('ok', 'Repaired'),
    proposed: status('attention', 'Repair proposed'),
    failed: status('failed', 'Needs attention'),
  },
  severity: {
    low: status('off', 'Low'),
    medium: status('attention', 'Medium'),
    high: status('attention', 'High'),
    critical: status('failed', 'Critical'),
  },
  health: {
    ok: status('ok', 'OK'),
    degraded: status('attention', 'Degraded'),
    down: status('failed', 'Down'),
  },
  payment: {
    succeeded: status('ok', 'Succeeded'),
    failed: status('failed', 'Failed'),
    pending: status('waiting', 'Pending'),
    authorized: status('waiting', 'Authorized'),
    canceled: status('off', 'Canceled'),
    partially_refunded: status('off', 'Partially refunded'),
    refunded: status('off', 'Refunded'),
  },
  notification: {
    applied: status('ok', 'Applied'),
    received: status('waiting', 'Received'),
    unverified: status('attention', 'Unverified'),
    failed: status('failed', 'Failed'),
    superseded: status('off', 'Superseded'),
    ignored: status('off', 'Ignored'),
  },
} satisfies Record<string, Record<string, StatusWord>>

/** A kind of record that has states. */
export type StatusKind = keyof typeof statuses

/** Finds the tone and the word of a state. Returns the technical name of an unknown state. */
export function statusWord(kind: StatusKind, state: string): StatusWord {
  const words: Readonly<Record<string, StatusWord>> = statuses[kind]
  return Object.hasOwn(words, state) ? (words[state] ?? unknown(state)) : unknown(state)
}

/** The states of a kind, in the order of filters. */
export const statesOf = (kind: StatusKind): readonly string[] => Object.keys(statuses[kind])

/** The kinds of records that have states. */
export const statusKinds = (): readonly StatusKind[] => Object.keys(statuses) as StatusKind[]

const unknown = (state: string): StatusWord => status('off', state)
