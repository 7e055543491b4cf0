/** Validates all input and reports all issues together, before conflicts with the stored record. */
import type { FastifyRequest } from 'fastify'
import { InvalidInput, Problem, type Refuse, type ValidationIssue } from '../../lib/problems.ts'
import type { Caller } from '../access/index.ts'
import { type AnyOperation, takesBytes } from './operation.ts'
import type { RequestPart } from './validation/issues.ts'
import { type Checked, compileCheck, type InputCheck } from './validation/validator.ts'

export interface Input {
  path: unknown
  query: unknown
  body: unknown
  refined: unknown
}

/** Passes valid input to `work`. @throws InvalidInput with every issue, even if `work` had another reason to reject */
export type ReadInput = <T>(
  request: FastifyRequest,
  caller: Caller | null,
  work: (input: Input) => T | Promise<T>,
) => T | Promise<T>

/** The name that Fastify gives to the rest of a path. */
export const REST_OF_PATH = '*'

/** Returns a function that reads the path parameters of a request. */
function paramsReader({ path, lastParamHasSlashes }: AnyOperation) {
  const name = lastParamHasSlashes && /\{(\w+)\}$/.exec(path)?.[1]
  if (!name) return ({ params }: FastifyRequest) => params
  return ({ params }: FastifyRequest) => {
    const { [REST_OF_PATH]: rest, ...others } = params as Record<string, unknown>
    return { ...others, [name]: rest }
  }
}

export function inputReader(op: AnyOperation): ReadInput {
  const paramsOf = paramsReader(op)
  const checks = {
    path: op.params && compileCheck(op.params, 'path'),
    query: op.query && compileCheck(op.query, 'query'),
    body:
      op.body &&
      (takesBytes(op)
        ? asBytes
        : compileCheck(op.body, 'body', { isNullAbsent: op.method === 'POST' })),
  }
  const known = knownParameters(op)
  return (request, caller, work) => {
    const body = op.bodyOptional ? (request.body ?? {}) : request.body
    const { issues, ...parts } = checkParts(
      checks,
      request,
      { params: paramsOf(request), body },
      known,
    )
    const given = () => givenOf(parts, issues, caller, request.headers.host ?? '')
    const refined = op.refine?.(given(), refuseInto(issues))
    if (!op.checkReferences) {
      if (issues.length > 0) throw new InvalidInput(issues)
      return work({ ...parts, refined })
    }
    const check = async (refusal: unknown): Promise<never> => {
      await op.checkReferences?.(given(), refuseInto(issues))
      throw issues.length > 0 ? new InvalidInput(issues) : refusal
    }
    if (issues.length > 0) return check(new InvalidInput(issues))
    return unlessWrong(() => work({ ...parts, refined }), check)
  }
}

const refuseInto =
  (issues: ValidationIssue[]): Refuse =>
  (loc, why) => {
    if (why) issues.push({ loc: [...loc], msg: `Value error, ${why}`, type: 'value_error' })
  }

/** Runs `work`. If `work` rejects the request, calls `check`, which throws the error to send instead. */
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

/** Validates path, query and body. Returns their values and all issues. */
function checkParts(
  checks: Record<'path' | 'query' | 'body', InputCheck | undefined>,
  request: FastifyRequest,
  { params, body }: { params: unknown; body: unknown },
  known: ReadonlySet<string> | undefined,
) {
  const path = checks.path?.(params) ?? UNDECLARED
  const query = checks.query?.(request.query) ?? UNDECLARED
  const isMissing = checks.body && checks.body !== asBytes && body === undefined
  const checked = (isMissing ? MISSING : checks.body?.(body)) ?? UNDECLARED
  const isUnreadable = checks.query && !isDecodable(request.raw.url ?? '')
  const unknown = known ? unknownIn(request.query as object, known) : []
  return {
    path: path.value,
    query: query.value,
    body: checked.value,
    issues: [
      ...path.issues,
      ...query.issues,
      ...unknown,
      ...(isUnreadable ? [BADLY_ENCODED] : []),
      ...checked.issues,
    ],
  }
}

/**
 * Returns the names of the query parameters, or undefined for raw bodies, to which payment providers add parameters.
 */
function knownParameters(op: AnyOperation): ReadonlySet<string> | undefined {
  if (takesBytes(op)) return undefined
  return new Set(Object.keys((op.query as { properties?: object } | undefined)?.properties ?? {}))
}

/** The maximum number of unknown parameters in the error, and the maximum length of each name. */
const MAX_NAMED = 20
const MAX_NAME = 100

/** Reports unknown parameters. If a misspelt filter were ignored, the response would contain all records. */
const unknownIn = (query: object, known: ReadonlySet<string>): ValidationIssue[] =>
  Object.keys(query)
    .filter((name) => !known.has(name))
    .slice(0, MAX_NAMED)
    .map((name) => ({
      loc: ['query', name.slice(0, MAX_NAME).toWellFormed()],
      msg: 'Extra inputs are not permitted',
      type: 'extra_forbidden',
    }))

/** Returns a raw body unchecked, because the operation validates it itself. */
const asBytes: InputCheck = (body = Buffer.alloc(0)) => ({ value: body, issues: [] })

/** The result for a part of the request that the operation does not declare. */
const UNDECLARED: Checked = { value: undefined, issues: [] }

const MISSING: Checked = {
  value: undefined,
  issues: [{ loc: ['body'], msg: 'Field required', type: 'missing' }],
}

type AnyGiven = Parameters<NonNullable<AnyOperation['refine']>>[0]

/** Returns the input for `refine` and `checkReferences`. It contains only the fields without issues. */
function givenOf(
  parts: Omit<Input, 'refined'>,
  issues: readonly ValidationIssue[],
  caller: Caller | null,
  host: string,
): AnyGiven {
  const faulty = new Set(issues.map(({ loc }) => loc.slice(0, 2).join('.')))
  const sound = (part: RequestPart, value: unknown) => {
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

/** Returns true if every escape in the URL decodes to UTF-8. The query parser leaves invalid escapes unchanged. */
function isDecodable(url: string): boolean {
  try {
    return !url.includes('%') || decodeURIComponent(url) !== undefined
  } catch {
    return false
  }
}
