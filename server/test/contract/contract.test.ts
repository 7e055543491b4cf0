/** Compares the contract's rows with the service's operations and routes, in both directions. */

import { beforeAll, describe, expect, test } from 'vitest'
import { type AnyOperation, takesBytes } from '../../src/platform/http/operation.ts'
import { openService, type Service } from '../support/service.ts'
import { ADDED, BUILT, nameOf, SPECIFIED } from './operations.ts'
import { servedRoutes } from './routes.ts'

let service: Service
let routes: string[]

beforeAll(async () => {
  service = await openService()
  routes = servedRoutes(service.app)
})

/** Returns whether the operation has an input that can be invalid. */
const takesInput = (op: AnyOperation): boolean =>
  Boolean(op.params ?? op.query ?? (op.body && !takesBytes(op))) || Boolean(op.refusesInput)

describe('the table of operations in the test', () => {
  test('contains each of the 63 operations of the specification once', () => {
    expect(new Set(SPECIFIED.map(nameOf)).size).toBe(63)
    expect(SPECIFIED).toHaveLength(63)
  })

  test('lists each operation that was added later once', () => {
    const names = [...SPECIFIED, ...ADDED].map(nameOf)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('the routes of the service', () => {
  test('are the implemented rows of the table, plus HEAD for every GET', () => {
    const heads = BUILT.filter((row) => row.method === 'GET').map((row) => `HEAD ${row.path}`)
    expect(routes.toSorted()).toEqual([...BUILT.map(nameOf), ...heads].sort())
  })
})

describe('the operations of the service', () => {
  test('are the implemented rows of the table', () => {
    expect(service.app.operations.map(nameOf).toSorted()).toEqual(BUILT.map(nameOf).sort())
  })

  test.each(BUILT)(
    '$method $path declares the status, the token and the input of its row',
    (row) => {
      const found = service.app.operations.find((op) => nameOf(op) === nameOf(row))
      expect({
        success: found?.success[0],
        auth: found?.access.roles ? 'bearer' : 'none',
        input: found !== undefined && takesInput(found),
      }).toEqual({ success: row.success, auth: row.auth, input: row.input })
    },
  )

  test('have unique operationIds', () => {
    const ids = service.app.operations.map((op) => op.id)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('a call without a valid token', () => {
  const protectedRows = BUILT.filter((row) => row.auth === 'bearer')

  test.each(protectedRows)(
    'gets 401 with a WWW-Authenticate challenge: $method $path',
    async (row) => {
      const answer = await service.call(row.method, row.path.replaceAll(/\{\w+\}/g, '1'))
      expect(answer).toMatchObject({
        status: 401,
        headers: { 'www-authenticate': 'Bearer' },
        body: { detail: 'Not authenticated' },
      })
    },
  )

  test.each(protectedRows)(
    'gets 401 that calls a malformed token invalid: $method $path',
    async (row) => {
      const path = row.path.replaceAll(/\{\w+\}/g, '1')
      const answer = await service.call(row.method, path, { token: 'not.a.token' })
      expect(answer.status).toBe(401)
      expect(answer.headers['www-authenticate']).toContain('error="invalid_token"')
    },
  )

  test('is accepted by the operations that need no token', async () => {
    for (const row of BUILT.filter((open) => open.auth === 'none')) {
      const answer = await service.call(row.method, row.path)
      expect([nameOf(row), answer.status]).toEqual([
        nameOf(row),
        row.bare ?? (row.input ? 422 : row.success),
      ])
    }
  })
})
