/** Lists the error codes of an operation: its own and those of every similar operation. */
import { PROBLEMS, type ProblemCode } from '../../lib/problems.ts'
import { ROLES } from '../../lib/roles.ts'
import type { Restriction } from '../access/index.ts'
import { fileOf } from './download.ts'
import { NOT_MODIFIED } from './etag.ts'
import { type AnyOperation, takesBytes } from './operation.ts'

/** The status of a response without a body. */
export const NO_CONTENT = 204

/** The error code for a session under each restriction. */
export const REFUSED_WHILE: Readonly<Record<Restriction, ProblemCode>> = {
  password: 'password_change_required',
  enrolment: 'enrolment_required',
}

const OF_ALL: readonly ProblemCode[] = [
  'ambiguous_host',
  'unreadable_request',
  'encoded_body',
  'expectation_failed',
  'too_many_requests',
  'internal',
  'database_away',
  'busy',
]

/** Includes `conflict`, because another request may delete a record to which a write refers while the write runs. */
const OF_WRITES: readonly ProblemCode[] = [
  'body_in_pieces',
  'body_incomplete',
  'body_too_large',
  'conflict',
]

/** Returns every error code that the operation can answer, in the order of `PROBLEMS`. A 422 response has no code. */
export function codesOf(op: AnyOperation): ProblemCode[] {
  const codes = new Set([
    ...OF_ALL,
    ...(op.method === 'GET' ? [] : OF_WRITES),
    ...(op.duringMaintenance ? [] : (['restoring'] as const)),
    ...(isForOwnPages(op) ? (['cross_site'] as const) : []),
    ...(op.isFinal ? (['reauth_required'] as const) : []),
    ...(op.onlyFrom ? (['sender_not_allowed'] as const) : []),
    ...(fileOf(op.success[1])?.ranges ? (['range_not_satisfiable'] as const) : []),
    ...codesOfAccess(op),
    ...(op.refusals ?? []),
  ])
  return (Object.keys(PROBLEMS) as ProblemCode[]).filter((code) => codes.has(code))
}

/** Returns true if the operation accepts only requests from pages of this service. */
export const isForOwnPages = (op: AnyOperation): boolean =>
  op.browserSession === true || op.onlyFromOwnPages === true

function codesOfAccess({ access: { roles }, whileRestricted = [] }: AnyOperation): ProblemCode[] {
  if (!roles) return []
  const restrictions = Object.keys(REFUSED_WHILE) as Restriction[]
  return [
    'not_authenticated',
    'invalid_token',
    ...(roles.length < ROLES.length ? (['role_required'] as const) : []),
    ...restrictions
      .filter((restriction) => !whileRestricted.includes(restriction))
      .map((restriction) => REFUSED_WHILE[restriction]),
  ]
}

/** Returns every status that the operation can answer, in ascending order. */
export function statusesOf(op: AnyOperation): number[] {
  return [
    ...new Set([
      op.success[0],
      ...(fileOf(op.success[1])?.ranges ? [206] : []),
      ...(op.mayBeEmpty ? [NO_CONTENT] : []),
      ...(op.etag ? [NOT_MODIFIED] : []),
      // Operations without input also answer 422, because they reject unknown query parameters.
      ...(takesBytes(op) && !op.refusesInput ? [] : [422]),
      ...codesOf(op).map((code) => PROBLEMS[code][0]),
    ]),
  ].sort((a, b) => a - b)
}
