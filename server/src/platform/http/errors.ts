/** Converts any thrown value into one of the two error bodies, and logs internal errors. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { InvalidInput, Problem } from '../../lib/problems.ts'
import { type Conflicts, problemOf } from '../db/index.ts'
import type { Logger } from '../observe/log.ts'
import { jsonInvalid } from './body.ts'
import { showBytes } from './body-limit.ts'

/** Converts a thrown value into the error that the caller receives. */
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
      detail: `The request body is larger than ${showBytes(request.routeOptions.bodyLimit)}. Send a smaller one.`,
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
  // Any other rejection by the framework means that the request is malformed.
  if (code?.startsWith('FST_') && ((error as FastifyError).statusCode ?? 500) < 500)
    return new Problem('unreadable_request')
  return problemOf(error, conflicts) ?? new Problem('internal', { cause: error })
}

/** Returns true if the caller disconnected while sending the body. The error resembles a lost database connection. */
const isBrokenOff = (error: unknown, { errored }: FastifyRequest['raw']) =>
  error instanceof Error && error === errored

/** Sends `error` as the response, with the headers that its status requires. */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Logger,
): FastifyReply {
  const answer = toAnswer(error, request)
  if (answer instanceof InvalidInput) return reply.code(422).send({ detail: answer.issues })
  if (answer.status >= 500) logError(answer, request, log)
  if (answer.status === 401)
    reply.header(
      'www-authenticate',
      answer.code === 'invalid_token' ? 'Bearer error="invalid_token"' : 'Bearer',
    )
  if (answer.retryAfter !== undefined) reply.header('retry-after', answer.retryAfter)
  return reply.code(answer.status).send({ detail: answer.message, code: answer.code })
}

/** Logs an error. A retry time without a cause is intentional, for example during a restore or an overload. */
function logError(answer: Problem, { id: req_id }: FastifyRequest, log: Logger): void {
  const { code, cause, retryAfter } = answer
  if (cause === undefined && retryAfter !== undefined)
    log.info({ req_id, code }, 'request rejected')
  else log.error({ err: cause ?? answer, req_id, code }, 'request failed')
}
