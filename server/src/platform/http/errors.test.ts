/** Tests the log lines of error responses: level error for failures, and level info for intentional rejections. */
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { Problem } from '../../lib/problems.ts'
import type { Logger } from '../observe/log.ts'
import { sendError } from './errors.ts'

/** Sends a thrown error as the response. Returns the status and the log lines. */
async function answered(error: Error) {
  const logged: unknown[][] = []
  const at =
    (level: string) =>
    (...line: unknown[]) =>
      void logged.push([level, ...line])
  const log = { info: at('info'), error: at('error') } as unknown as Logger
  const app = fastify({ genReqId: () => 'the id' })
  onTestFinished(() => app.close())
  app.setErrorHandler((thrown, request, reply) => sendError(thrown, request, reply, log))
  app.get('/', () => Promise.reject(error))
  const { statusCode } = await app.inject('/')
  return { status: statusCode, logged }
}

test.each([
  ['a restore', new Problem('restoring', { retryAfter: 2 })],
  ['a shutdown', new Problem('stopping', { retryAfter: 5 })],
  ['an overload', new Problem('overloaded', { retryAfter: 2 })],
])(
  'the service logs a request that is rejected because of %s at the level info',
  async (_what, problem) => {
    expect(await answered(problem)).toEqual({
      status: 503,
      logged: [['info', { req_id: 'the id', code: problem.code }, 'request rejected']],
    })
  },
)

const gone = new Error('gone')
const bug = new TypeError('a bug')
const noFile = new Problem('backup_file_gone')

test.each([
  ['a lost database', new Problem('database_away', { retryAfter: 2, cause: gone }), 503, gone],
  ['a missing backup file', noFile, 503, noFile],
  ['a bug', bug, 500, bug],
])(
  'the service logs a request that fails because of %s at the level error, with the cause',
  async (_what, thrown, status, err) => {
    const { logged, ...answer } = await answered(thrown)
    expect(answer).toEqual({ status })
    expect(logged).toEqual([
      ['error', { err, req_id: 'the id', code: expect.any(String) }, 'request failed'],
    ])
  },
)
