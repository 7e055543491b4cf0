/** Final operations require a confirmed caller, after the role and the input and before the handler. */
import Type from 'typebox'
import { beforeEach, expect, test } from 'vitest'
import { serveOperations } from '../../../test/support/operations-server.ts'
import { Problem } from '../../lib/problems.ts'
import { type Identity, superadmins } from '../access/index.ts'
import { operation } from './operation.ts'
import { codesOf } from './refusals.ts'

const OPERATOR: Identity = {
  user_id: 1,
  tenant_id: 1,
  email: 'operator@platform.test',
  role: 'superadmin',
  unit_id: null,
  sees_all: false,
  session_id: '3f0c2b1e-52a4-4c0e-9a53-1f2d6b7a9c10',
  restriction: null,
}

let isConfirmed: boolean
/** The calls of the guard and of the handlers, in order. */
let calls: string[]

beforeEach(() => {
  isConfirmed = false
  calls = []
})

const common = {
  method: 'POST',
  summary: 'Act',
  description: 'Acts',
  tag: 'Backups',
  access: superadmins,
  body: Type.Object({ is_rehearsal: Type.Boolean() }),
  success: [204, null],
  handle: () => void calls.push('handler'),
} as const

const OPERATIONS = [
  operation({ ...common, path: '/always', id: 'always', isFinal: true }),
  operation({
    ...common,
    path: '/sometimes',
    id: 'sometimes',
    isFinal: ({ body }) => !body.is_rehearsal,
  }),
  operation({ ...common, path: '/never', id: 'never' }),
]

async function open(identity = OPERATOR) {
  const server = await serveOperations(OPERATIONS, {
    authenticate: () => identity,
    requireConfirmed: async ({ session_id }) => {
      calls.push(`confirmed ${session_id === OPERATOR.session_id}`)
      if (!isConfirmed) throw new Problem('reauth_required')
    },
  })
  return async (url: string, payload: object = { is_rehearsal: false }) => {
    const headers = { authorization: 'Bearer token' }
    const answer = await server.inject({ method: 'POST', url, payload, headers })
    return [answer.statusCode, answer.body === '' ? undefined : answer.json().code]
  }
}

test('a final operation is refused without a confirmation, and its handler does not run', async () => {
  const post = await open()
  expect(await post('/always')).toEqual([403, 'reauth_required'])
  expect(calls).toEqual(['confirmed true'])
})

test('a final operation runs after the confirmation was checked', async () => {
  isConfirmed = true
  const post = await open()
  expect(await post('/always')).toEqual([204, undefined])
  expect(calls).toEqual(['confirmed true', 'handler'])
})

test('an operation decides from its input whether a call is final', async () => {
  const post = await open()
  expect(await post('/sometimes', { is_rehearsal: true })).toEqual([204, undefined])
  expect(await post('/sometimes')).toEqual([403, 'reauth_required'])
  expect(await post('/never')).toEqual([204, undefined])
  expect(calls).toEqual(['handler', 'confirmed true', 'handler'])
})

test('the role and the input are checked first', async () => {
  const [post, other] = [await open(), await open({ ...OPERATOR, role: 'admin' })]
  expect(await other('/always')).toEqual([403, 'role_required'])
  expect((await post('/always', {}))[0]).toBe(422)
  expect(calls).toEqual([])
})

test('only final operations declare the refusal', () => {
  const declared = OPERATIONS.map((op) => codesOf(op).includes('reauth_required'))
  expect(declared).toEqual([true, true, false])
})
