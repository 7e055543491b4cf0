/** The size limit of each operation's body, as in decisions §1 and in the OpenAPI document. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { settingsOf } from '../paygate/clinic.ts'
import { type Clinic, makeClinic, type Person, superadmin, tokenFor } from '../support/clinics.ts'
import { referred } from '../support/openapi.ts'
import { openPaygateApi } from '../support/paygate.ts'
import { openService, type Service } from '../support/service.ts'

const KIB = 1024

/** The operations that take a free-form object or a long text. */
const FREE_FORM = [
  'createTenant',
  'updateTenant',
  'updatePreferences',
  'createPatient',
  'updatePatient',
]

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  // The service configures the providers, because notifications of a provider without configuration have a lower limit.
  service = await openService({ config: settingsOf(await openPaygateApi()) })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'limits')
})

interface Described {
  operationId: string
  security: object[]
  'x-body-limit'?: number
  responses: Record<string, { $ref: string }>
}

const document = JSON.parse(
  readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'),
) as { paths: Record<string, Record<string, Described>> }

const WRITES = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([method]) => method !== 'get')
    .map(([method, described]) => ({ method: method.toUpperCase(), path, described })),
)

/** Returns an invalid JSON body of this size. An invalid body keeps the operations from having an effect. */
const bodyOf = (bytes: number) => '{'.padEnd(bytes, ' ')

/** The operations that providers call, with the maximum size of their bodies in KiB. */
const OF_PROVIDERS: Record<string, number> = {
  receiveCardnetNotification: 256,
  receivePaygateNotification: 256,
  receiveMessengerUpdate: 128,
}

test('each operation documents its body limit: 16 KiB without a token, 128 KiB for free-form objects, else 64 KiB', () => {
  for (const { described } of WRITES) {
    const isFreeForm = FREE_FORM.includes(described.operationId)
    const isOpen = described.security.length === 0
    const kept = isOpen ? 16 : isFreeForm ? 128 : 64
    const limit = OF_PROVIDERS[described.operationId] ?? kept
    expect([described.operationId, described['x-body-limit']]).toEqual([
      described.operationId,
      limit * KIB,
    ])
  }
})

describe('the documented body limit', () => {
  test.each(WRITES.map((write) => [write.described.operationId, write] as const))(
    'is enforced for %s: a body with one more byte gets 413, and the response names the limit',
    async (_, { method, path, described }) => {
      const limit = described['x-body-limit'] ?? 0
      const url = path.replaceAll(/\{\w+\}/g, '999999')
      const op = service.app.operations.find(({ id }) => id === described.operationId)
      const token = op && tokenFor(op, root, clinic)
      const sent = (bytes: number) => service.call(method, url, { token, payload: bodyOf(bytes) })
      const sentence = `The request body is larger than ${limit / KIB} KiB`
      expect((await sent(limit)).status).not.toBe(413)
      expect(await sent(limit + 1)).toMatchObject({
        status: 413,
        body: { code: 'body_too_large', detail: `${sentence}. Send a smaller one.` },
      })
      expect(referred(document, described.responses[413]).description).toBe(sentence)
    },
  )

  test('also applies without a Content-Length header', async () => {
    const address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    const answer = await fetch(`${address}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: ReadableStream.from([bodyOf(16 * KIB), ' ']).pipeThrough(new TextEncoderStream()),
      duplex: 'half',
    } as RequestInit)
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
      413,
      'body_too_large',
    ])
  })
})

test('a request to an unknown path is refused before its body is read', async () => {
  for (const bytes of [1, 16 * KIB + 1])
    expect(
      (await service.call('POST', '/api/nothing', { token: root.token, payload: bodyOf(bytes) }))
        .status,
    ).toBe(404)
})
