/** The rules for throttling, and the state of the counts that they use. */

/** A rule that counts failures of one kind per account or per address. */
export interface ThrottleRule {
  name: string
  /** The number of failures that cause no delay. */
  free: number
  /** The first delay and the longest delay, in seconds. */
  first: number
  longest: number
  /** True to run guesses for the same subject one at a time per node as soon as one is running. */
  oneByOne?: boolean
  /** True to keep the failures after a correct guess. The failed guesses may have targeted another account. */
  isKept?: boolean
}

/** A count that a failed guess increases: a rule and its subject. */
export interface GuessCount {
  rule: ThrottleRule
  /** The subject (an account or address) in one canonical spelling. E-mail addresses are folded (`lib/email.ts`). */
  of: string
}

/** The current state of a count. */
export interface GuessCounts {
  failures: number
  /** Milliseconds until the next guess is allowed. */
  wait: number
}
