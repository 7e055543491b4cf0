/** Tests which request bodies are accepted: JSON in UTF-8 up to a size limit. */
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

/** The 422 response to a body that is not valid JSON. */
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

describe('request bodies', () => {
  test.each(['{"a": 1}', '[]', '"text"', '0', 'null', 'false', ' {"a": "Zoë 👩‍⚕️"} '])(
    'are accepted if they are JSON: %s',
    async (text) => {
      expect(await send(text)).toEqual({ status: 200, body: { body: JSON.parse(text) } })
    },
  )

  test.each([
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/problem+json',
    'application/merge-patch+json;x=y',
  ])('are accepted with the content type %s', async (type) => {
    expect(await send('{"a": 1}', type)).toEqual({ status: 200, body: { body: { a: 1 } } })
  })

  test.each([
    'text/plain',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
  ])('are rejected with the content type "%s"', async (type) => {
    expect(await send('{"a": 1}', type)).toEqual(notJson)
  })

  test.each(['{', '{"a": }', "{'a': 1}", '{"a": 1,}', 'NaN', '{"a": 1} x', '\u0000', '\ufeff{'])(
    'are rejected if they are not JSON: %j',
    async (text) => {
      expect(await send(text)).toEqual(notJson)
    },
  )

  test('are rejected if they are not UTF-8', async () => {
    expect(await send(Buffer.from('{"a": "\xe9"}', 'latin1'))).toEqual(notJson)
    expect(await send(Buffer.from('{"a": 1}', 'utf16le'))).toEqual(notJson)
  })

  test('cannot change a prototype', async () => {
    const sent =
      '{"a": 1, "__proto__": {"role": "superadmin"}, "constructor": {"prototype": {"x": 1}}}'
    expect(await send(sent)).toEqual({ status: 200, body: { body: { a: 1 } } })
    expect(({} as { role?: string }).role).toBeUndefined()
  })

  test('are not repeated in the response when they are rejected', async () => {
    const { body } = await send('{"password": "hunter2" oops')
    expect(JSON.stringify(body)).not.toContain('hunter2')
  })

  test('are read up to the size limit, and rejected with 413 above the limit', async () => {
    const most = `"${'x'.repeat(BODY_LIMIT - 2)}"`
    expect((await send(most)).status).toBe(200)
    expect(await send(`${most} `)).toEqual({
      status: 413,
      body: {
        code: 'body_too_large',
        detail: 'The request body is larger than 2 KiB. Send a smaller one.',
      },
    })
  })

  test('are treated as missing if they are empty', async () => {
    expect(await send('')).toEqual({ status: 200, body: {} })
  })
})

test('the body of a request is not read if the operation accepts no body', async () => {
  expect(await send('{not json', 'text/plain', '/ignores')).toEqual({ status: 200, body: {} })
})
