/** What an operation can refuse: its own codes and those that every operation of its kind has. */
import { PROBLEMS, type ProblemCode } from '../../lib/problems.ts'
import { ROLES } from '../../lib/roles.ts'
import type { Restriction } from '../access/index.ts'
import { fileOf } from './download.ts'
import type { AnyOperation } from './operation.ts'
import { takesBytes } from './raw-body.ts'

/** The status of an answer without a body. */
export const NO_CONTENT = 204

/** The refusal of a session under a restriction. */
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

/** The record that a write refers to may be deleted while it runs. */
const OF_WRITES: readonly ProblemCode[] = [
  'body_in_pieces',
  'body_incomplete',
  'body_too_large',
  'conflict',
]

/** Every code that the operation can answer, in the order of the registry. 422 has none. */
export function codesOf(op: AnyOperation): ProblemCode[] {
  const codes = new Set([
    ...OF_ALL,
    ...(op.method === 'GET' ? [] : OF_WRITES),
    ...(op.whileClosed ? [] : (['restoring'] as const)),
    ...(op.browserSession ? (['cross_site'] as const) : []),
    ...(op.onlyFrom ? (['sender_not_allowed'] as const) : []),
    ...(fileOf(op.success[1])?.ranges ? (['range_not_satisfiable'] as const) : []),
    ...codesOfAccess(op),
    ...(op.refusals ?? []),
  ])
  return (Object.keys(PROBLEMS) as ProblemCode[]).filter((code) => codes.has(code))
}

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

/** Every status that the operation can answer, ascending. */
export function statusesOf(op: AnyOperation): number[] {
  return [
    ...new Set([
      op.success[0],
      ...(fileOf(op.success[1])?.ranges ? [206] : []),
      ...(op.mayBeEmpty ? [NO_CONTENT] : []),
      // An operation without input refuses unknown query parameters.
      ...(takesBytes(op) && !op.refusesInput ? [] : [422]),
      ...codesOf(op).map((code) => PROBLEMS[code][0]),
    ]),
  ].sort((a, b) => a - b)
}
