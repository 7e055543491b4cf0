/**
 * The one door for input: every fault of a request at once, whichever rule finds it, and before what
 * is wrong with the record.
 */
import type { FastifyRequest } from 'fastify'
import { type Fault, InvalidInput, Problem, type Refuse } from '../../lib/problems.ts'
import type { Caller } from '../access/index.ts'
import type { AnyOperation } from './operation.ts'
import { takesBytes } from './raw-body.ts'
import type { Part } from './validation/faults.ts'
import { type Check, type Checked, compileCheck } from './validation/validator.ts'

/** The input as the handler gets it. */
export interface Input {
  path: unknown
  query: unknown
  body: unknown
  refined: unknown
}

/**
 * Hands the input of a request to `work` when nothing is wrong with it.
 * @throws InvalidInput with every fault, also in place of a refusal by `work`
 */
export type ReadInput = <T>(
  request: FastifyRequest,
  caller: Caller | null,
  work: (input: Input) => T | Promise<T>,
) => T | Promise<T>

/** Compiles the checks of an operation's input. */
export function inputReader(op: AnyOperation): ReadInput {
  const checks = {
    path: op.params && compileCheck(op.params, 'path'),
    query: op.query && compileCheck(op.query, 'query'),
    body: op.body && (takesBytes(op) ? asBytes : compileCheck(op.body, 'body')),
  }
  return (request, caller, work) => {
    const body = op.bodyOptional ? (request.body ?? {}) : request.body
    const { faults, ...parts } = checkParts(checks, request, body)
    const given = () => givenOf(parts, faults, caller, request.headers.host ?? '')
    const refined = op.refine?.(given(), refuseInto(faults))
    if (!op.checkReferences) {
      if (faults.length > 0) throw new InvalidInput(faults)
      return work({ ...parts, refined })
    }
    const check = async (refusal: unknown): Promise<never> => {
      await op.checkReferences?.(given(), refuseInto(faults))
      throw faults.length > 0 ? new InvalidInput(faults) : refusal
    }
    if (faults.length > 0) return check(new InvalidInput(faults))
    return unlessWrong(() => work({ ...parts, refined }), check)
  }
}

const refuseInto =
  (faults: Fault[]): Refuse =>
  (loc, why) => {
    if (why) faults.push({ loc: [...loc], msg: `Value error, ${why}`, type: 'value_error' })
  }

/** Runs `work`; a refusal of it goes through `check` before it is answered. */
async function unlessWrong<T>(
  work: () => T | Promise<T>,
  check: (refusal: unknown) => Promise<never>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isRefusal = error instanceof Problem && [403, 404, 409].includes(error.status)
    if (isRefusal || error instanceof InvalidInput) return check(error)
    throw error
  }
}

/** Each part as it is kept, and the faults of all by their schemas. */
function checkParts(
  checks: Record<'path' | 'query' | 'body', Check | undefined>,
  request: FastifyRequest,
  body: unknown,
) {
  const path = checks.path?.(request.params) ?? UNDECLARED
  const query = checks.query?.(request.query) ?? UNDECLARED
  const isMissing = checks.body && checks.body !== asBytes && body === undefined
  const checked = (isMissing ? MISSING : checks.body?.(body)) ?? UNDECLARED
  const isUnreadable = checks.query && !isDecodable(request.raw.url ?? '')
  return {
    path: path.value,
    query: query.value,
    body: checked.value,
    faults: [
      ...path.faults,
      ...query.faults,
      ...(isUnreadable ? [BADLY_ENCODED] : []),
      ...checked.faults,
    ],
  }
}

/** A body that the operation judges for itself. */
const asBytes: Check = (body = Buffer.alloc(0)) => ({ value: body, faults: [] })

/** A part that the operation does not take. */
const UNDECLARED: Checked = { value: undefined, faults: [] }

const MISSING: Checked = {
  value: undefined,
  faults: [{ loc: ['body'], msg: 'Field required', type: 'missing' }],
}

type AnyGiven = Parameters<NonNullable<AnyOperation['refine']>>[0]

/** What the rules see of the parts: the fields without a fault. */
function givenOf(
  parts: Omit<Input, 'refined'>,
  faults: readonly Fault[],
  caller: Caller | null,
  host: string,
): AnyGiven {
  const faulty = new Set(faults.map(({ loc }) => loc.slice(0, 2).join('.')))
  const sound = (part: Part, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
    if (faulty.size === 0) return value
    return Object.fromEntries(
      Object.entries(value).filter(([name]) => !faulty.has(`${part}.${name}`)),
    )
  }
  return {
    caller,
    path: sound('path', parts.path),
    query: sound('query', parts.query),
    body: sound('body', parts.body),
    faulty,
    host,
  }
}

const BADLY_ENCODED = {
  loc: ['query'],
  msg: 'Value error, the query is not properly encoded',
  type: 'value_error',
}

/** Whether every escape in the URL is UTF-8: the parser leaves what is not as it is. */
function isDecodable(url: string): boolean {
  try {
    return !url.includes('%') || decodeURIComponent(url) !== undefined
  } catch {
    return false
  }
}
