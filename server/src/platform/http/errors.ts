/** Turns whatever was thrown into one of the two error bodies, and logs what is our own fault. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { InvalidInput, Problem } from '../../lib/problems.ts'
import { type Conflicts, problemOf } from '../db/index.ts'
import type { Logger } from '../observe/log.ts'
import { jsonInvalid } from './body.ts'
import { showBytes } from './body-limit.ts'

/** What a thrown value means for the caller. */
export function toAnswer(
  error: unknown,
  request: FastifyRequest,
  conflicts?: Conflicts,
): Problem | InvalidInput {
  if (error instanceof Problem || error instanceof InvalidInput) return error
  if (isBrokenOff(error, request.raw)) return new Problem('body_incomplete')
  const code = (error as FastifyError).code
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new Problem('body_too_large', {
      detail: `The body is larger than ${showBytes(request.routeOptions.bodyLimit)}; send less`,
    })
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return jsonInvalid('send application/json')
  if (code?.startsWith('FST_STATIC_')) return new Problem('not_found')
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH')
    return new InvalidInput([
      {
        loc: ['path'],
        msg: 'Value error, the path is too long or not properly encoded',
        type: 'value_error',
      },
    ])
  // Whatever else the framework refuses is the request's fault.
  if (code?.startsWith('FST_') && ((error as FastifyError).statusCode ?? 500) < 500)
    return new Problem('unreadable_request')
  return problemOf(error, conflicts) ?? new Problem('internal', { cause: error })
}

/** Whether the caller left in the middle of the body: its error reads like a lost database's. */
const isBrokenOff = (error: unknown, { errored }: FastifyRequest['raw']) =>
  error instanceof Error && error === errored

/** Answers `error` on `reply`, with the headers that its status calls for. */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Logger,
): FastifyReply {
  const answer = toAnswer(error, request)
  if (answer instanceof InvalidInput) return reply.code(422).send({ detail: answer.issues })
  if (answer.status >= 500) tell(answer, request, log)
  if (answer.status === 401)
    reply.header(
      'www-authenticate',
      answer.code === 'invalid_token' ? 'Bearer error="invalid_token"' : 'Bearer',
    )
  if (answer.retryAfter !== undefined) reply.header('retry-after', answer.retryAfter)
  return reply.code(answer.status).send({ detail: answer.message, code: answer.code })
}

/** What nothing has caused, and what is over at a time, is refused on purpose: at a restore, a stop, a full line. */
function tell(answer: Problem, { id: req_id }: FastifyRequest, log: Logger): void {
  const { code, cause, retryAfter } = answer
  if (cause === undefined && retryAfter !== undefined) log.info({ req_id, code }, 'refused')
  else log.error({ err: cause ?? answer, req_id, code }, 'failed')
}
