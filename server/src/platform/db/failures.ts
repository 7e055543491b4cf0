/** Classifies the driver's errors: a violated constraint, an unreachable database, or a retryable failure. */
import pg from 'pg'
import { Problem, type ProblemCode } from '../../lib/problems.ts'
import { DatabaseTimeout } from './deadline.ts'

interface DriverError extends Error {
  code?: string
  constraint?: string
}

const UNIQUE = '23505'
const FOREIGN_KEY = '23503'
const CANCELED = '57014'
const TOO_LONG = 'The query took too long. Narrow it with filters, or try again shortly.'

/** Thrown if a server cannot be used: it is a standby, read-only, or not the server that the listener trusts. */
export class ServerRefused extends Error {
  override name = 'ServerRefused'
}

/** Thrown if the listener moved to another server during the work, whose results must then be discarded. */
export class ServerMoved extends ServerRefused {
  override name = 'ServerMoved'

  constructor() {
    super('The service switched to another database server while this one was responding.')
  }
}

/** Returns the `ServerRefused` among an error and its causes. Ignores `ServerMoved`, which is not a refusal. */
export function serverRefusalOf(error: unknown): ServerRefused | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof ServerRefused && !(error instanceof ServerMoved)) return error
  return serverRefusalOf(error.cause)
}

/** SQLSTATEs of connection failures and shutdown (PostgreSQL appendix A), and error codes of sockets. */
const AWAY =
  /^(08...|57P0[1-5]|53300|ECONN.*|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/
const AWAY_WORDS =
  /Connection terminated|connection error and is not queryable|timeout exceeded when trying to connect|^timeout expired$|Connection ended|Client was closed|Query read timeout/

function isDatabaseAway(error: unknown): boolean {
  const { code, message } = error as DriverError
  return (
    error instanceof ServerRefused ||
    error instanceof DatabaseTimeout ||
    isForeignSession(error) ||
    (code !== undefined && AWAY.test(code)) ||
    AWAY_WORDS.test(message ?? '')
  )
}

/** Errors of database connections. Others raise the same codes, so the code does not show the origin. */
const ofConnections = new WeakSet<object>()

/** Marks an error as raised by a database connection. Returns the error. */
export function markFailure<E>(error: E): E {
  if (typeof error === 'object' && error !== null) ofConnections.add(error)
  return error
}

/** Returns whether the database was away or could not write, also by its causes. Ignores errors of other systems. */
export function isDatabaseFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof Problem ? error.code === 'database_away' : isOwnFailure(error)) return true
  return isDatabaseFailure(error.cause)
}

function isOwnFailure(error: Error): boolean {
  if (!isDatabaseAway(error) && !isUnwritable(error)) return false
  const isOfDriver = error instanceof pg.DatabaseError || AWAY_WORDS.test(error.message)
  const isOurs = error instanceof ServerRefused || error instanceof DatabaseTimeout
  return isOfDriver || isOurs || ofConnections.has(error)
}

/** SQLSTATEs of a server that cannot write (disk or memory full, files inaccessible, standby). Nothing was written. */
const UNWRITABLE = /^(53000|53100|53200|58000|58030|25006)$/

/** Returns whether the server could not write. The same request may succeed later. */
export const isUnwritable = (error: unknown): boolean =>
  UNWRITABLE.test((error as DriverError).code ?? '')

const READ_ONLY = '25006'

/** Returns whether the server refused to write because it is read-only, so that nothing was written. */
export const isReadOnly = (error: unknown): boolean => (error as DriverError).code === READ_ONLY

/** SQLSTATEs of a missing or duplicate prepared statement. They mean that another client has used the same session. */
const FOREIGN_SESSION = /^(26000|42P05)$/

const isForeignSession = (error: unknown): boolean =>
  FOREIGN_SESSION.test((error as DriverError).code ?? '')

/** Returns whether the connection must be closed after the error, even if its rollback succeeds. */
export const spoilsConnection = (error: unknown): boolean =>
  error instanceof ServerRefused || isReadOnly(error) || isForeignSession(error)

/** Returns whether a statement failed only because an earlier one in its transaction had failed. */
export function isAborted(error: unknown): boolean {
  return (error as DriverError).code === '25P02'
}

/** Returns whether a newer release changed a prepared statement's tables. Its connection can never run it again. */
export function isOutdated(error: unknown): boolean {
  const { code, message } = error as DriverError
  return code === '0A000' && message.includes('cached plan must not change result type')
}

/** Thrown if a transaction has written nothing, because its work failed or COMMIT returned ROLLBACK. */
export class RolledBack extends Error {
  constructor(options?: ErrorOptions) {
    super('the transaction was rolled back', options)
  }
}

/** Returns whether a transaction has written nothing, because the server refused it or the commit was never sent. */
export function isUndone(error: unknown): boolean {
  const isRefused = error instanceof pg.DatabaseError && !isDatabaseAway(error)
  return isRefused || error instanceof RolledBack || error instanceof Problem
}

/** Thrown by work that relied on outdated cached data. The transaction then runs again. */
export class Outpaced extends Error {}

/** Returns whether a write used a data key that never existed or was deleted (the foreign key of `seal` in 0004). */
export function isKeyGone(error: unknown): boolean {
  const { code, constraint } = error as DriverError
  return code === FOREIGN_KEY && (constraint?.endsWith('__data_key') ?? false)
}

/** Returns whether maintenance mode refused the work. The work may be retried later. */
export function isResting(error: unknown): error is Problem {
  return error instanceof Problem && error.code === 'restoring'
}

/** Returns whether the transaction lost a race or used outdated cached data, and may run again. */
export function isRetryable(error: unknown): boolean {
  const { code } = error as DriverError
  const lost = code === '40P01' || code === '40001'
  return lost || error instanceof Outpaced || isOutdated(error) || isKeyGone(error)
}

/** Returns the name of the constraint that a write violated, or undefined. */
function brokenConstraint(error: unknown): string | undefined {
  const { code, constraint } = error as DriverError
  return code === UNIQUE || code === FOREIGN_KEY ? (constraint ?? 'unnamed') : undefined
}

/** Maps the constraints of a feature to the problem codes that callers receive for violations. */
export type Conflicts = Readonly<Record<string, ProblemCode>>

/** Converts a driver's error to a problem, or undefined for a bug. @param conflicts of all features, for the caller */
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

/** Returns whether a failure is temporary and affects the whole batch rather than a single item. */
export function isPassing(error: unknown): boolean {
  const code = problemOf(error)?.code
  return code === 'database_away' || code === 'busy' || code === 'restoring'
}
