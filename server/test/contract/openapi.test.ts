/** The OpenAPI document: as committed, complete, and true of what the service answers. */
import { readFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { beforeAll, describe, expect, test } from 'vitest'
import { codesOf, statusesOf } from '../../src/platform/http/refusals.ts'
import { referred } from '../support/openapi.ts'
import type { Service } from '../support/service.ts'
import { BUILT, nameOf } from './operations.ts'
import { openWalkable, type Step, walk } from './walk.ts'

interface Document {
  openapi: string
  paths: Record<string, Record<string, Described>>
}

interface Described {
  operationId: string
  security: object[]
  parameters?: { name: string; in: string; required: boolean }[]
  requestBody?: object
  responses: Record<string, Response | { $ref: string }>
}

interface Response {
  headers: object
  content?: Record<string, { schema: object; examples?: object }>
}

let service: Service
let steps: Step[]
let document: Document

beforeAll(async () => {
  const walkable = await openWalkable()
  service = walkable.service
  steps = await walk(walkable)
  document = steps.find((step) => step.name === 'GET /openapi.json')?.answer.body
})

function describedOf(op: { method: string; path: string }): Described {
  const described = document.paths[op.path]?.[op.method.toLowerCase()]
  if (!described) throw new Error(`${nameOf(op)} is not described`)
  return described
}

/** The responses of an operation by status, those that it shares as well. */
function responsesOf(op: { method: string; path: string }): [status: string, Response][] {
  return Object.entries(describedOf(op).responses).map(([status, response]) => {
    return [status, referred(document, response)]
  })
}

describe('the document', () => {
  test('is served as it is committed', async () => {
    const committed = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8')
    expect(document).toEqual(JSON.parse(committed))
    expect(document.openapi).toBe('3.1.0')
  })

  test('describes every operation and none beside them', () => {
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described.toSorted()).toEqual(BUILT.map(nameOf).sort())
  })

  test('holds every status that an operation declares, and no other', () => {
    for (const op of service.app.operations)
      expect([op.id, Object.keys(describedOf(op).responses)]).toEqual([
        op.id,
        statusesOf(op).map(String),
      ])
  })

  test('gives each status but 204 a body, and every one the request id', () => {
    for (const op of service.app.operations)
      for (const [status, response] of responsesOf(op)) {
        expect([op.id, status, response.content !== undefined]).toEqual([
          op.id,
          status,
          status !== '204',
        ])
        expect(response.headers).toHaveProperty('X-Request-Id')
      }
  })

  test('has for each refusal its codes, with an example of each', () => {
    for (const op of service.app.operations) {
      const told = responsesOf(op).flatMap(([, { content }]) => {
        return Object.keys(content?.['application/json']?.examples ?? {})
      })
      expect([op.id, told.toSorted()]).toEqual([op.id, codesOf(op).toSorted()])
    }
  })

  test('takes less than 450 kB', () => {
    expect(JSON.stringify(document).length).toBeLessThan(450_000)
  })

  test('says of each operation whether it takes a token, and names its path parameters', () => {
    for (const row of BUILT) {
      const described = describedOf(row)
      expect([nameOf(row), described.security]).toEqual([
        nameOf(row),
        row.auth === 'bearer' ? [{ bearer: [] }] : [],
      ])
      const named = (described.parameters ?? []).filter((parameter) => parameter.in === 'path')
      expect(named.map((parameter) => `{${parameter.name}}`)).toEqual(
        row.path.match(/\{\w+\}/g) ?? [],
      )
      expect(named.every((parameter) => parameter.required)).toBe(true)
    }
  })

  test('answers 422 for every operation but those that take any body and any query', () => {
    for (const row of BUILT) {
      const described = describedOf(row)
      const takesAny = JSON.stringify(described).includes('"*/*"')
      expect([nameOf(row), '422' in described.responses]).toEqual([
        nameOf(row),
        row.input || !takesAny,
      ])
    }
  })
})

/** Steps that declare actions and enter none: a preview of a restore, and a `/start` in a chat. */
const SILENT = ['POST /api/admin/backup/restore', 'POST /webhooks/messenger']

/** The type of an operation's answer, as the document has it. */
function typeOf(name: string, status: number): string {
  const [method = '', path = ''] = name.split(' ')
  const response = new Map(responsesOf({ method, path })).get(String(status))
  return Object.keys(response?.content ?? {})[0] as string
}

const sentAs = (type: string) =>
  type === 'application/json' ? 'application/json; charset=utf-8' : type

describe('a walk through the service', () => {
  test('calls every operation that is built', () => {
    expect([...new Set(steps.map((step) => step.name))].sort()).toEqual(BUILT.map(nameOf).sort())
  })

  test('is answered with the success that the contract names', () => {
    const expected = BUILT.map((row) => [nameOf(row), row.success]).sort()
    expect(steps.map((step) => [step.name, step.answer.status]).sort()).toEqual(expected)
  })

  test('gets bodies as they are described', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    // ajv-formats is CommonJS; its types hide that the function itself is what is imported.
    ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
    ajv.addSchema(document, 'contract')
    for (const { name, answer } of steps.filter((step) => step.answer.body !== undefined)) {
      const [method = '', path = ''] = name.split(' ')
      const place = ['paths', path, method.toLowerCase(), 'responses', String(answer.status)]
      const pointer = [...place, 'content', typeOf(name, answer.status), 'schema'].map((part) =>
        encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')),
      )
      const validate = ajv.compile({ $ref: `contract#/${pointer.join('/')}` })
      expect([name, validate(answer.body), validate.errors]).toEqual([name, true, null])
    }
  })

  test('enters in the audit log what the operation declares, and nothing else', async () => {
    const entries = await service.database.sql<{ request_id: string; action: string }>(
      'select request_id::text, action from journal where request_id is not null',
    )
    for (const { name, answer } of steps) {
      const records: readonly string[] =
        service.app.operations.find((op) => nameOf(op) === name)?.records ?? []
      const entered = entries
        .filter(({ request_id }) => request_id === answer.headers['x-request-id'])
        .map(({ action }) => action)
      expect([name, entered.filter((action) => !records.includes(action))]).toEqual([name, []])
      if (!SILENT.includes(name))
        expect([name, entered.length > 0]).toEqual([name, records.length > 0])
    }
  })

  test('gets JSON in UTF-8, a file as what it is, or nothing at all with 204', () => {
    for (const { name, answer } of steps)
      expect([name, answer.headers['content-type'], answer.body === undefined]).toEqual(
        answer.status === 204
          ? [name, undefined, true]
          : [name, sentAs(typeOf(name, answer.status)), false],
      )
  })
})
