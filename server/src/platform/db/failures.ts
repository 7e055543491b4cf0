/** Reads what the driver throws: a constraint with a name, a lost database, a wish to try again. */
import pg from 'pg'
import { Problem, type ProblemCode } from '../../lib/problems.ts'

interface DriverError extends Error {
  code?: string
  constraint?: string
}

const UNIQUE = '23505'
const FOREIGN_KEY = '23503'
const CANCELED = '57014'
const TOO_LONG = 'This took too long; ask for less, by filters or after, or try again shortly'

/** Connection classes and shutdown states of PostgreSQL's appendix A, and the sockets' own words. */
const AWAY =
  /^(08...|57P0[1-5]|53300|ECONN.*|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/
const AWAY_WORDS =
  /Connection terminated|connection error and is not queryable|timeout exceeded when trying to connect|Connection ended|Client was closed|Query read timeout/

/** Whether the error says that the database could not be reached or went away in the middle. */
function isDatabaseAway(error: unknown): boolean {
  const { code, message } = error as DriverError
  return (code !== undefined && AWAY.test(code)) || AWAY_WORDS.test(message ?? '')
}

/**
 * The server answers and cannot write: its disk or memory is full, its files cannot be read or written, or it is a
 * standby. Nothing of the transaction is there.
 */
const UNWRITABLE = /^(53000|53100|53200|58000|58030|25006)$/

/** Whether the server could not write, which passes without a change of the request. */
export const isUnwritable = (error: unknown): boolean =>
  UNWRITABLE.test((error as DriverError).code ?? '')

/** Whether a statement failed only because one before it in its transaction had. */
export function isAborted(error: unknown): boolean {
  return (error as DriverError).code === '25P02'
}

/**
 * Whether a prepared statement no longer fits its tables, as a newer release has changed them. Its
 * connection never runs it again.
 */
export function isOutdated(error: unknown): boolean {
  const { code, message } = error as DriverError
  return code === '0A000' && message.includes('cached plan must not change result type')
}

/** The work has failed, or COMMIT has answered ROLLBACK: nothing of the transaction is there. */
export class RolledBack extends Error {
  constructor(options?: ErrorOptions) {
    super('the transaction was rolled back', options)
  }
}

/** Whether it is certain that nothing of a transaction is there: the server has refused it, or we never sent its commit. */
export function isUndone(error: unknown): boolean {
  const isRefused = error instanceof pg.DatabaseError && !isDatabaseAway(error)
  return isRefused || error instanceof RolledBack || error instanceof Problem
}

/** What is thrown by work that knew something from memory which is no longer so. */
export class Outpaced extends Error {}

/** Whether a row names a data key that is not there (any more): the foreign key of `seal` in 0004. */
export function isKeyGone(error: unknown): boolean {
  const { code, constraint } = error as DriverError
  return code === FOREIGN_KEY && (constraint?.endsWith('__data_key') ?? false)
}

/** Whether it was refused as a restore has closed the service: it may be done by and by. */
export function isResting(error: unknown): error is Problem {
  return error instanceof Problem && error.code === 'restoring'
}

/** Whether the transaction lost a race, or knew something that is outdated, and may run again. */
export function isRetryable(error: unknown): boolean {
  const { code } = error as DriverError
  const lost = code === '40P01' || code === '40001'
  return lost || error instanceof Outpaced || isOutdated(error) || isKeyGone(error)
}

/**
 * Whether a write broke a rule that the database holds: the constraint's name, or undefined.
 */
function brokenConstraint(error: unknown): string | undefined {
  const { code, constraint } = error as DriverError
  return code === UNIQUE || code === FOREIGN_KEY ? (constraint ?? 'unnamed') : undefined
}

/** The constraints of a feature whose break is a conflict that the caller can understand. */
export type Conflicts = Readonly<Record<string, ProblemCode>>

/**
 * The problem that a driver's error means for the caller; undefined when it is a bug of ours.
 * @param conflicts those of all features, for whoever tells the caller
 */
export function problemOf(error: unknown, conflicts: Conflicts = {}): Problem | undefined {
  if (isResting(error)) return error
  const constraint = isRetryable(error) ? undefined : brokenConstraint(error)
  if (constraint) return new Problem(conflicts[constraint] ?? 'conflict', { cause: error })
  if (isRetryable(error) || (error as DriverError).code === '55P03')
    return new Problem('busy', { retryAfter: 1, cause: error })
  if ((error as DriverError).code === CANCELED)
    return new Problem('busy', { detail: TOO_LONG, retryAfter: 1, cause: error })
  if (isDatabaseAway(error) || isUnwritable(error))
    return new Problem('database_away', { retryAfter: 2, cause: error })
  return undefined
}

/** Whether a failure passes by itself, and so means all that was written together; any other means one of them. */
export function isPassing(error: unknown): boolean {
  const code = problemOf(error)?.code
  return code === 'database_away' || code === 'busy' || code === 'restoring'
}
