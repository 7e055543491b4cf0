/** docs/reference/access.md lists the roles that may call each operation. The list must match the operations. */
import { beforeAll, describe, expect, test } from 'vitest'
import { ROLES } from '../../src/lib/roles.ts'
import { openService, type Service } from '../support/service.ts'
import { named, tableOf } from './documents.ts'

let service: Service

beforeAll(async () => {
  service = await openService()
})

describe('docs/reference/access.md', () => {
  test('lists each operation once with its callers, and no unknown operation', () => {
    const declared = service.app.operations.map(
      (op) => `${op.method} ${op.path}: ${op.access.name}`,
    )
    const told = tableOf('docs/reference/access.md', 'Operation').map(
      ([operation, access]) => `${named(operation)}: ${access}`,
    )
    expect(told.sort()).toEqual(declared.sort())
  })

  test('lists the roles for every kind of access, and no unknown kind', () => {
    const declared = new Map(
      service.app.operations.map(({ access }) => [access.name, access.roles?.join(', ')]),
    )
    const told = tableOf('docs/reference/access.md', 'Access').map(([name = '', roles = '']) => [
      name,
      roles === 'no token needed' ? undefined : roles,
    ])
    expect(told.sort()).toEqual([...declared].sort())
  })

  test('names only existing roles', () => {
    const named = tableOf('docs/reference/access.md', 'Access')
      .filter(([name]) => name !== 'anyone')
      .flatMap(([, roles = '']) => roles.split(', '))
    expect([...new Set(named)].sort()).toEqual([...ROLES].sort())
  })
})
