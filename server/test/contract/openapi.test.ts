/** The OpenAPI document matches the committed file, is complete, and is consistent with the answers of the service. */
import { readFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { beforeAll, describe, expect, test } from 'vitest'
import { fileOf } from '../../src/platform/http/download.ts'
import { codesOf, statusesOf } from '../../src/platform/http/refusals.ts'
import { type Action, PUBLIC_ACTIONS, resourceTypeOf } from '../../src/platform/journal/index.ts'
import { referred } from '../support/openapi.ts'
import type { Service } from '../support/service.ts'
import { BUILT, nameOf } from './operations.ts'
import { differences } from './shapes.ts'
import { openWalkable, walk } from './walk.ts'
import type { Step } from './walk-scene.ts'

interface Document {
  openapi: string
  paths: Record<string, Record<string, Described>>
  webhooks: any
}

interface Described {
  operationId: string
  security: object[]
  parameters?: { name: string; in: string; required: boolean; description?: string }[]
  requestBody?: { content: Content }
  responses: Record<string, Response | { $ref: string }>
}

interface Response {
  headers: object
  content?: Content
}

type Content = Record<string, { schema: object; example?: unknown; examples?: object }>

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

/** Returns the responses of an operation by status, including the shared ones. */
function responsesOf(op: { method: string; path: string }): [status: string, Response][] {
  return Object.entries(describedOf(op).responses).map(([status, response]) => {
    return [status, referred(document, response)]
  })
}

describe('the OpenAPI document', () => {
  test('is identical to the committed file', async () => {
    const committed = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8')
    expect(document).toEqual(JSON.parse(committed))
    expect(document.openapi).toBe('3.1.0')
  })

  test('describes exactly the operations of the service', () => {
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described.toSorted()).toEqual(BUILT.map(nameOf).sort())
  })

  test('lists exactly the statuses that each operation declares', () => {
    for (const op of service.app.operations)
      expect([op.id, Object.keys(describedOf(op).responses)]).toEqual([
        op.id,
        statusesOf(op).map(String),
      ])
  })

  test('gives every status except 204 and 304 a body, and every response the request ID header', () => {
    for (const op of service.app.operations)
      for (const [status, response] of responsesOf(op)) {
        expect([op.id, status, response.content !== undefined]).toEqual([
          op.id,
          status,
          status !== '204' && status !== '304',
        ])
        expect(response.headers).toHaveProperty('X-Request-Id')
      }
  })

  test('lists the codes of each error response, with an example of each code', () => {
    for (const op of service.app.operations) {
      const told = responsesOf(op).flatMap(([, { content }]) => {
        return Object.keys(content?.['application/json']?.examples ?? {})
      })
      expect([op.id, told.toSorted()]).toEqual([op.id, codesOf(op).toSorted()])
    }
  })

  test('describes a message for each event that webhooks can subscribe to', () => {
    const { requestBody, parameters } = document.webhooks.event.post
    const { schema, examples } = requestBody.content['application/json']
    expect(Object.keys(examples)).toEqual(PUBLIC_ACTIONS)
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema(document, 'contract')
    const validate = ajv.compile({ $ref: `contract${schema.$ref}` })
    for (const [event, { value }] of Object.entries<any>(examples))
      expect([event, value.type, validate(value)]).toEqual([event, event, true])
    const names = parameters.map(({ name }: { name: string }) => name)
    expect(names).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature'])
  })

  test('is smaller than 450 kB', () => {
    expect(JSON.stringify(document).length).toBeLessThan(450_000)
  })

  test('says for each operation whether it needs a token, and names its path parameters', () => {
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

  test('lists the status 422 for every operation except those that accept any body and any query', () => {
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

/**
 * Steps whose operations declare actions but record none in this walk. They are a dry run of a restore, a test restore that is
 * still running, a `/start` in a
 * chat, and a refresh of the console within a minute.
 */
const SILENT = [
  'POST /api/admin/backup/restore',
  'POST /api/admin/backup/drill/{backup_id}',
  'POST /webhooks/messenger',
  'POST /api/console/session/refresh',
]

const BINARY = 'application/octet-stream'
/** Fields that the walk replaces in an example. */
const REPLACED = new Set([
  ...['backup_id', 'department_id', 'head_doctor_id', 'patient_id', 'patient_ids', 'id'],
  ...['code', 'password', 'current_password', 'new_password', 'refresh_token', 'secret', 'token'],
  ...['email', 'subdomain', 'url', 'since'],
  // The fields of a notification: the payment and the chat.
  ...['type', 'created', 'data', 'object', 'update_id', 'message'],
])

function operationOf(name: string): Described {
  const [method = '', path = ''] = name.split(' ')
  return describedOf({ method, path })
}

const requestOf = (name: string): Content => operationOf(name).requestBody?.content ?? {}

function contentOf(name: string, status: number): Content {
  const [method = '', path = ''] = name.split(' ')
  return new Map(responsesOf({ method, path })).get(String(status))?.content ?? {}
}

/** Returns the documented type of an operation's answer. */
const typeOf = (name: string, status: number) => Object.keys(contentOf(name, status))[0] as string

const sentAs = (type: string) =>
  type === 'application/json' ? 'application/json; charset=utf-8' : type

describe('a test client that calls every operation', () => {
  test('covers every implemented operation', () => {
    expect([...new Set(steps.map((step) => step.name))].sort()).toEqual(BUILT.map(nameOf).sort())
  })

  test("gets the success status of each operation's contract", () => {
    const expected = BUILT.map((row) => [nameOf(row), row.success]).sort()
    expect(steps.map((step) => [step.name, step.answer.status]).sort()).toEqual(expected)
  })

  test('gets bodies that match the schemas of the document, as do the examples', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    // ajv-formats is CommonJS; its types do not show that the import is the function itself.
    ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
    // Formats that ajv-formats does not know.
    for (const format of ['idn-email', 'date-or-time']) ajv.addFormat(format, true)
    ajv.addSchema(document, 'contract')
    const check = (name: string, place: string[], body: unknown) => {
      const [method = '', path = ''] = name.split(' ')
      const pointer = ['paths', path, method.toLowerCase(), ...place].map((part) =>
        encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')),
      )
      const validate = ajv.compile({ $ref: `contract#/${pointer.join('/')}/schema` })
      expect([name, validate(body), validate.errors]).toEqual([name, true, null])
    }
    for (const { name, answer } of steps.filter((step) => step.answer.body !== undefined)) {
      const type = typeOf(name, answer.status)
      const place = ['responses', String(answer.status), 'content', type]
      check(name, place, answer.body)
      const { example } = contentOf(name, answer.status)[type] ?? {}
      if (example !== undefined) check(name, place, example)
      const [sent, media] = Object.entries(requestOf(name))[0] ?? []
      if (sent) check(name, ['requestBody', 'content', sent], media?.example)
    }
  })

  test('sends the documented examples, and replaces only IDs, secrets and unique names in them', () => {
    for (const { name, filled } of steps)
      expect([name, filled.filter((field) => !REPLACED.has(field))]).toEqual([name, []])
  })

  test('gets the same fields and types as in the documented example', () => {
    for (const { name, answer } of steps) {
      const [schema] = service.app.operations
        .filter((op) => nameOf(op) === name)
        .map(({ success }) => success[1] && (fileOf(success[1])?.content ?? success[1]))
      const { example } = contentOf(name, answer.status)['application/json'] ?? {}
      if (!schema || example === undefined) continue
      const body = typeof answer.body === 'string' ? JSON.parse(answer.body) : answer.body
      expect([name, differences(schema, example, body)]).toEqual([name, []])
    }
  })

  test('finds an example of each body, and a description of each parameter', () => {
    for (const op of service.app.operations) {
      const bodies = [requestOf(nameOf(op)), contentOf(nameOf(op), op.success[0])]
      for (const content of bodies)
        for (const [type, media] of Object.entries(content))
          expect([op.id, type === BINARY || media.example !== undefined]).toEqual([op.id, true])
      for (const { name, description } of describedOf(op).parameters ?? [])
        expect([op.id, name, description]).toEqual([op.id, name, expect.stringMatching(/\w/)])
    }
  })

  test('causes exactly the audit log entries that each operation declares', async () => {
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

  test('causes audit log entries about the resource types that the registry derives', async () => {
    const entries = await service.database.sql<{ action: Action; resource_type: string }>(
      'select distinct action, resource_type from journal order by action',
    )
    expect(entries.length).toBeGreaterThan(50)
    for (const { action, resource_type } of entries)
      expect([action, resource_type]).toEqual([action, resourceTypeOf(action)])
  })

  test('gets JSON in UTF-8, a file with its content type, or no body with 204', () => {
    for (const { name, answer } of steps)
      expect([name, answer.headers['content-type'], answer.body === undefined]).toEqual(
        answer.status === 204
          ? [name, undefined, true]
          : [name, sentAs(typeOf(name, answer.status)), false],
      )
  })
})
