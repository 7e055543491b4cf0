/** What bodies are taken: JSON in UTF-8 up to a limit, by operations that take one. */
import fastify from 'fastify'
import { afterAll, describe, expect, test } from 'vitest'
import { silentLog } from '../../../test/support/server-address.ts'
import { readJsonBodies } from './body.ts'
import { sendError } from './errors.ts'

const BODY_LIMIT = 2048
const app = fastify({ bodyLimit: BODY_LIMIT })
readJsonBodies(app)
app.setErrorHandler((error, request, reply) => sendError(error, request, reply, silentLog))
app.post('/takes', { config: { takesBody: true } }, async ({ body }) => ({ body }))
app.post('/ignores', async ({ body }) => ({ body }))
afterAll(() => app.close())

async function send(
  payload: string | Buffer,
  type: string | undefined = 'application/json',
  path = '/takes',
) {
  const headers = type === '' ? {} : { 'content-type': type }
  const answer = await app.inject({ method: 'POST', url: path, payload, headers })
  return { status: answer.statusCode, body: answer.json() }
}

/** A body that is refused as no JSON, with one fault. */
const notJson = {
  status: 422,
  body: {
    detail: [
      {
        loc: ['body'],
        type: 'json_invalid',
        msg: expect.stringMatching(/^JSON decode error: \S.*[^\s,.]$/),
      },
    ],
  },
}

describe('a body', () => {
  test.each(['{"a": 1}', '[]', '"text"', '0', 'null', 'false', ' {"a": "Zoë 👩‍⚕️"} '])(
    '%s is read',
    async (text) => {
      expect(await send(text)).toEqual({ status: 200, body: { body: JSON.parse(text) } })
    },
  )

  test.each([
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/problem+json',
    'application/merge-patch+json;x=y',
  ])('of the type %s is read', async (type) => {
    expect(await send('{"a": 1}', type)).toEqual({ status: 200, body: { body: { a: 1 } } })
  })

  test.each([
    'text/plain',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
  ])('of the type "%s" is refused', async (type) => {
    expect(await send('{"a": 1}', type)).toEqual(notJson)
  })

  test.each(['{', '{"a": }', "{'a': 1}", '{"a": 1,}', 'NaN', '{"a": 1} x', '\u0000', '\ufeff{'])(
    'of %j is refused',
    async (text) => {
      expect(await send(text)).toEqual(notJson)
    },
  )

  test('that is not UTF-8 is refused', async () => {
    expect(await send(Buffer.from('{"a": "\xe9"}', 'latin1'))).toEqual(notJson)
    expect(await send(Buffer.from('{"a": 1}', 'utf16le'))).toEqual(notJson)
  })

  test('does not reach into a prototype', async () => {
    const sent =
      '{"a": 1, "__proto__": {"role": "superadmin"}, "constructor": {"prototype": {"x": 1}}}'
    expect(await send(sent)).toEqual({ status: 200, body: { body: { a: 1 } } })
    expect(({} as { role?: string }).role).toBeUndefined()
  })

  test('that is refused is not repeated in the answer', async () => {
    const { body } = await send('{"password": "hunter2" oops')
    expect(JSON.stringify(body)).not.toContain('hunter2')
  })

  test('up to the limit is read, and one byte more is 413', async () => {
    const most = `"${'x'.repeat(BODY_LIMIT - 2)}"`
    expect((await send(most)).status).toBe(200)
    expect(await send(`${most} `)).toEqual({
      status: 413,
      body: { code: 'body_too_large', detail: 'The body is larger than 2 KiB; send less' },
    })
  })

  test('that is empty is none', async () => {
    expect(await send('')).toEqual({ status: 200, body: {} })
  })
})

test('an operation that takes no body does not look at one', async () => {
  expect(await send('{not json', 'text/plain', '/ignores')).toEqual({ status: 200, body: {} })
})
