/** What the log says of an answer: alarms for what has failed, and a word of what is refused on purpose. */
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { Problem } from '../../lib/problems.ts'
import type { Logger } from '../observe/log.ts'
import { sendError } from './errors.ts'

/** Answers what an operation throws. Returns the status, and the lines of the log. */
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
  ['a stop', new Problem('stopping', { retryAfter: 5 })],
  ['a full line', new Problem('overloaded', { retryAfter: 2 })],
])('what %s refuses is no alarm', async (_what, problem) => {
  expect(await answered(problem)).toEqual({
    status: 503,
    logged: [['info', { req_id: 'the id', code: problem.code }, 'refused']],
  })
})

const gone = new Error('gone')
const bug = new TypeError('a bug')
const noFile = new Problem('backup_file_gone')

test.each([
  ['a lost database', new Problem('database_away', { retryAfter: 2, cause: gone }), 503, gone],
  ['a file that is gone', noFile, 503, noFile],
  ['a bug', bug, 500, bug],
])('%s is one, with what has caused it', async (_what, thrown, status, err) => {
  const { logged, ...answer } = await answered(thrown)
  expect(answer).toEqual({ status })
  expect(logged).toEqual([['error', { err, req_id: 'the id', code: expect.any(String) }, 'failed']])
})
