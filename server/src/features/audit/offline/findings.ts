/** The result of a verification: findings of tampering, notes, and the reasons why something could not be checked. */

/** The kinds of tampering, in the words of the reports. */
export const FINDING_KINDS = {
  changed: 'changed',
  removed: 'removed',
  inserted: 'inserted after sealing',
  reordered: 'reordered',
  not_written_by_service: 'not written by the service',
  copied: 'copied',
  erased: 'erased without an order',
  pruned: 'pruned without an order',
  rolled_back: 'rolled back',
  forked: 'forked',
} as const
export type FindingKind = keyof typeof FINDING_KINDS

export interface Finding {
  kind: FindingKind
  tenant_id: number
  /** The index of the leaf. Null if the finding is about the whole log. */
  index: number | null
  entry_id: number | null
  detail: string
}

/** A log that was read to its end. */
export interface VerifiedLog {
  origin: string
  tenant_id: number
  size: number
  /** The index of the first leaf that was verified, and the index after the last one. */
  first: number
  end: number
  /** The number of signed heads that the log was compared with. */
  heads: number
}

export interface VerificationReport {
  logs: VerifiedLog[]
  findings: Finding[]
  /** The number of findings that are not listed, because there are too many. */
  omitted: number
  /** Observations that are not tampering, such as entries whose time differs much from that of their neighbors. */
  notes: string[]
  /** Sentences about parts that could not be checked. */
  unchecked: string[]
}

/** The maximum number of findings, and of notes, so that a report of any log fits into memory. */
const MAX_LISTED = 1_000

/** The log could not be checked. The message is a sentence for people. */
export class Uncheckable extends Error {}

export interface Findings {
  add(finding: Finding): void
  note(sentence: string): void
  readonly report: VerificationReport
}

export function openFindings(): Findings {
  const report: VerificationReport = {
    logs: [],
    findings: [],
    omitted: 0,
    notes: [],
    unchecked: [],
  }
  return {
    report,
    add(finding) {
      if (report.findings.length < MAX_LISTED) report.findings.push(finding)
      else report.omitted += 1
    },
    note(sentence) {
      if (report.notes.length < MAX_LISTED) report.notes.push(sentence)
    },
  }
}
