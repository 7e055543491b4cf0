/** Tests the OpenAPI document, which is built from the declared operations. */
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import type { JsonBytes } from '../../../lib/json-bytes.ts'
import { FreeForm, Id, Name, Nullable, OneOf } from '../../../lib/shapes.ts'
import { admins, anyone } from '../../access/index.ts'
import { operation } from '../operation.ts'
import { statusesOf } from '../refusals.ts'
import { openApiDocument, openapiOperation } from './document.ts'

const WardName = { ...Name, examples: ['Surgery'] }
const Ward = Type.Object({ id: Id, name: WardName, head: Nullable(Id) }, { $id: 'Ward' })

const change = operation({
  method: 'PUT',
  path: '/wards/{ward_id}',
  id: 'changeWard',
  summary: 'Change a ward',
  description: 'Change a ward',
  tag: 'Departments',
  access: admins,
  params: Type.Object({ ward_id: Id }),
  query: Type.Object({
    depth: Type.Integer({ default: 1 }),
    mode: OneOf(['a', 'b']),
    note: Type.Optional(Type.String()),
  }),
  body: Type.Object({ name: Type.Optional(Name), settings: Type.Optional(FreeForm) }),
  success: [200, Ward],
  refusals: ['not_found', 'email_taken'],
  handle: () => ({ id: 1, name: 'x', head: null }),
})
const remove = operation({
  method: 'DELETE',
  path: '/wards/{ward_id}',
  id: 'deleteWard',
  summary: 'Delete a ward',
  description: 'Delete a ward',
  tag: 'Departments',
  access: admins,
  params: Type.Object({ ward_id: Id }),
  success: [204, null],
  handle: () => undefined,
})
const alive = operation({
  method: 'GET',
  path: '/alive',
  id: 'alive',
  summary: 'Alive',
  description: 'Alive',
  tag: 'Health',
  access: anyone,
  success: [200, Type.Object({ ok: Type.Boolean() })],
  handle: () => ({ ok: true }),
})
const self = openapiOperation([change, remove, alive], { version: '1.2.3' })

// Has the type any, because the tests read the document as a client would.
const document: any = openApiDocument([change, remove, alive], { version: '1.2.3' })

/** Resolves a `$ref` in the document. Returns any other value unchanged. */
const referred = (part: any): any =>
  part.$ref
    ? part.$ref
        .split('/')
        .slice(1)
        .reduce((at: any, step: string) => at[step], document)
    : part

describe('the OpenAPI document', () => {
  test('states OpenAPI 3.1, the version, the sorted paths and the methods of each path', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '1.2.3' } })
    expect(Object.keys(document.paths)).toEqual(['/alive', '/wards/{ward_id}'])
    expect(Object.keys(document.paths['/wards/{ward_id}']).sort()).toEqual(['delete', 'put'])
    expect(document.tags.map(({ name }: { name: string }) => name)).toEqual([
      'Departments',
      'Health',
    ])
  })

  test('lists exactly the statuses that an operation can answer', () => {
    for (const op of [change, remove, alive]) {
      const { responses } = document.paths[op.path][op.method.toLowerCase()]
      expect(Object.keys(responses).map(Number)).toEqual(statusesOf(op))
    }
  })

  test('lists the error codes of each response once for all operations that share them', () => {
    const { put, delete: removed } = document.paths['/wards/{ward_id}']
    expect(put.responses[401]).toEqual(removed.responses[401])
    const { content } = referred(put.responses[409])
    const { schema, examples } = content['application/json']
    expect(schema.allOf[1].properties.code.enum).toEqual(['email_taken', 'conflict'])
    expect(referred(examples.email_taken)).toEqual({
      value: { code: 'email_taken', detail: expect.stringMatching(/email/) },
    })
    expect(
      referred(removed.responses[409]).content['application/json'].examples,
    ).not.toHaveProperty('email_taken')
  })

  test('contains each named schema once and refers to it elsewhere', () => {
    const { put } = document.paths['/wards/{ward_id}']
    expect(put.responses[200].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/Ward',
    })
    expect(Object.keys(document.components.schemas)).toEqual(['InvalidInput', 'Problem', 'Ward'])
    expect(document.components.schemas.Ward.properties.head.type).toEqual(['integer', 'null'])
  })

  test('omits schema keywords that only the service uses', () => {
    const keys: string[] = []
    JSON.stringify(document, (key, value) => {
      keys.push(key)
      return value
    })
    for (const own of ['trim', 'freeForm', '$id']) expect(keys).not.toContain(own)
  })

  test('contains no broken reference', () => {
    for (const [, path = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g))
      expect(path.split('/').reduce((at: any, step) => at?.[step], document)).toBeDefined()
  })

  test('requires a token exactly for operations that require a role', () => {
    expect(document.paths['/wards/{ward_id}'].put.security).toEqual([{ bearer: [] }])
    expect(document.paths['/alive'].get.security).toEqual([])
  })

  test('marks parameters as required, except optional ones and those with a default', () => {
    const { parameters } = document.paths['/wards/{ward_id}'].put
    const required = parameters.map((each: any) => [each.in, each.name, each.required])
    expect(required).toEqual([
      ['path', 'ward_id', true],
      ['query', 'depth', false],
      ['query', 'mode', true],
      ['query', 'note', false],
    ])
  })

  describe('the schemas of request and response bodies', () => {
    const defaulted = { hard: Type.Boolean({ default: false }), name: WardName }
    const Search = Type.Object(defaulted, { $id: 'Search' })
    const Bed = Type.Object(defaulted, { $id: 'Bed' })
    const body = Type.Object({
      ...defaulted,
      // A property with the name `required`, which must not be confused with the JSON Schema keyword.
      required: Type.Array(Type.Object(defaulted)),
      only_defaults: Type.Object({ hard: Type.Boolean({ default: false }) }),
      search: Search,
      bed: Bed,
    })
    const search = { ...change, body, success: [200, Bed] as const } as unknown as typeof change
    const { paths, components }: any = openApiDocument([search], { version: '1.2.3' })
    const { properties, required } =
      paths[search.path].put.requestBody.content['application/json'].schema

    test('do not require request fields that have a default, at any depth', () => {
      expect(required).toEqual(['name', 'required', 'only_defaults', 'search', 'bed'])
      expect(properties.required.items.required).toEqual(['name'])
      expect(properties.required.items.properties.hard).toEqual({ type: 'boolean', default: false })
      expect(properties.only_defaults).not.toHaveProperty('required')
      expect(components.schemas.Search.required).toEqual(['name'])
    })

    test('require response fields that have a default, because responses always contain them', () => {
      expect(components.schemas.Bed.required).toEqual(['hard', 'name'])
    })
  })

  test('uses a relative server URL, so that it works behind a proxy with a path prefix', () => {
    const [{ url }] = document.servers
    const server = new URL(url, 'https://clinic.example/app/openapi.json')
    expect(server.href).toBe('https://clinic.example/app/')
  })

  test('declares the headers of each status', () => {
    const { responses } = document.paths['/wards/{ward_id}'].put
    for (const response of Object.values(responses))
      expect(referred(response).headers).toHaveProperty('X-Request-Id')
    expect(referred(responses[401]).headers).toHaveProperty('WWW-Authenticate')
    for (const status of [429, 503])
      expect(referred(responses[status]).headers).toHaveProperty('Retry-After')
    expect(responses[200].headers).not.toHaveProperty('Retry-After')
  })

  test('declares no content for a response without a body', () => {
    const { responses } = document.paths['/wards/{ward_id}'].delete
    expect(responses[204]).not.toHaveProperty('content')
    const { schema } = referred(responses[422]).content['application/json']
    expect(schema.$ref).toMatch(/InvalidInput$/)
    expect(responses[404]).toBeUndefined()
    expect(document.paths['/wards/{ward_id}'].delete).not.toHaveProperty('requestBody')
  })
})

test('the OpenAPI document includes the operation that returns the document', async () => {
  const answered = (await self.handle({} as never)) as JsonBytes<unknown>
  const document = JSON.parse(answered.for(undefined).bytes.toString())
  expect(Object.keys(document.paths)).toContain('/openapi.json')
  expect(await self.handle({} as never)).toBe(answered)
})
