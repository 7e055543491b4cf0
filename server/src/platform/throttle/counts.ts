/** What is counted, and how it stands. */

/** What is counted: failures of one kind by one account, or by one address. */
export interface ThrottleRule {
  name: string
  /** How many failures cost nothing. */
  free: number
  /** Seconds of the first wait, and of the longest. */
  first: number
  longest: number
  /** Whether guesses that are let be are made one after another on a node, as soon as two meet. */
  oneByOne?: boolean
  /** Whether a guess that is right leaves the failures as they are, as it may be at something else. */
  isKept?: boolean
}

/** What one guess counts against: a rule with whom it is about. */
export interface Count {
  rule: ThrottleRule
  /** Spelled in one way only: an address of a person is folded (`lib/email.ts`). */
  of: string
}

/** How a count stands. */
export interface Standing {
  failures: number
  /** Milliseconds that the next guess has to wait. */
  wait: number
}
