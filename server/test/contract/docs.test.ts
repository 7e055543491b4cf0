/** Compares the table in docs/reference/api.md with the service's operations and with the contract. */
import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { TenantChange } from '../../src/features/tenants/tenants.schema.ts'
import { PROBLEMS } from '../../src/lib/problems.ts'
import type { AnyOperation } from '../../src/platform/http/operation.ts'
import { statusesOf } from '../../src/platform/http/refusals.ts'
import { named, tableOf } from '../docs/documents.ts'
import { openService } from '../support/service.ts'
import { ADDED, BUILT, nameOf, SPECIFIED } from './operations.ts'

interface Told {
  name: string
  who: string
  input: string[]
  success: number
  others: number[]
  does: string
}

/** The access rules as the page words them. */
const WHO: Record<string, string> = {
  anyone: 'anyone',
  'signed in': 'signed in',
  'admin or auditor': 'lists',
  clinic: 'clinic',
  'record keeper': 'record keepers',
  clinician: 'clinicians',
  'clinic admin': 'clinic admins',
  'clinic admin or auditor': 'clinic lists',
  admin: 'admins',
  superadmin: 'superadmin',
}
/** Statuses that any operation or any write can return. The page lists them only once. */
const COMMON = [400, 415, 417, 429, 500, 503]
const isCommon = (op: AnyOperation, status: number) =>
  !op.refusals?.some((code) => code !== 'overloaded' && PROBLEMS[code][0] === status) &&
  (COMMON.includes(status) ||
    (status === 409 && op.method !== 'GET') ||
    // An operation without other input returns 422 only for an unknown query parameter.
    (status === 422 && !op.params && !op.query && !op.body))

let page: string
let told: Told[]
let operations: readonly AnyOperation[]

beforeAll(async () => {
  page = await readFile(new URL('../../../docs/reference/api.md', import.meta.url), 'utf8')
  told = page.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    if (!/^(GET|POST|PUT|DELETE)$/.test(cells[1] ?? '')) return []
    const [, method = '', path = '', who = '', input = '', success, others = '', does = ''] = cells
    return {
      name: nameOf({ method, path: path.replaceAll('`', '') }),
      who,
      input: input === 'none' ? [] : input.split(', ').map((name) => name.replaceAll('`', '')),
      success: Number(success),
      others: others === '' ? [] : others.split(', ').map(Number),
      does,
    }
  })
  operations = (await openService()).app.operations
})

/** The page's names of the lists that are not sorted by `id` ascending. */
const LISTS: Record<string, string> = {
  listWebhookDeliveries: 'deliveries',
  listPayments: 'payments',
  listPaymentNotifications: 'payment notifications',
  listAuditEntries: 'the audit log',
  listJobs: 'jobs',
  listPatientAccesses: 'the accesses to a patient',
}

/** Returns how the operation sorts its list, in the words of the page; undefined for other operations. */
function orderOf(op: AnyOperation): string | undefined {
  const { sort_by, sort_order } = ((op.query ?? op.body)?.properties ?? {}) as Record<
    string,
    { default: string }
  >
  const direction = sort_order?.default === 'desc' ? 'descending' : 'ascending'
  return sort_by && `\`${sort_by.default}\` ${direction}`
}

/** Returns the lists for which the page states an order, with that order. */
function toldOrders(page: string): string[][] {
  const [, first, others = ''] =
    /^By default, lists are sorted by (.+?)\. (.+?)\n\n/ms.exec(page) ?? []
  expect(first).toBe('`id` ascending')
  const told = others.replaceAll('\n', ' ').matchAll(/(\w.*?) are sorted by (`\w+` \w+)\./g)
  return [...told].flatMap(([, names = '', order = '']) =>
    names.split(/, | and /).map((name) => [lowerFirst(name), order]),
  )
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1)

const rowOf = (name: string) => told.find((row) => row.name === name)

/** Returns the input of the operation as the page writes it: the query in italics, `?` for optional parts. */
function inputOf(op: AnyOperation): string[] {
  const names = (part: 'query' | 'body', mark: string) => {
    const { properties = {}, required = [] } = op[part] ?? {}
    return Object.entries<object>(properties).map(([name, schema]) => {
      const isNeeded = required.includes(name) && !('default' in schema)
      return `${mark}${name}${isNeeded ? '' : '?'}${mark}`
    })
  }
  const headers = Object.keys(op.headers ?? {}).map((name) => `header ${name}?`)
  return [...headers, ...names('query', '*'), ...names('body', '')]
}

test('docs/reference/api.md names exactly the lists that are not sorted by ascending ID', () => {
  const lists = operations
    .map((op) => [LISTS[op.id] ?? op.id, orderOf(op) ?? ''])
    .filter(([, order]) => order !== '' && order !== '`id` ascending')
  expect(toldOrders(page).sort()).toEqual(lists.sort())
})

test('docs/reference/api.md lists the common error responses, with the cause of each', () => {
  const [, first = ''] = /^Every operation can also return (.+?)\./ms.exec(page) ?? []
  const said = [...first.matchAll(/`(\d+)`/g)].map(([, status]) => Number(status))
  const ofAll = COMMON.filter((status) => operations.every((op) => statusesOf(op).includes(status)))
  // HTTP errors that occur before any operation is called.
  const ofHttp = [
    PROBLEMS.method_not_allowed[0],
    PROBLEMS.request_late[0],
    PROBLEMS.headers_too_large[0],
  ]
  expect(said.sort()).toEqual([...ofAll, ...ofHttp, 422].sort())
  const refusals = [...Object.values(PROBLEMS).map(([status]) => status), 422]
  expect(tableOf('docs/reference/api.md', 'Status').map(([status]) => Number(status))).toEqual(
    [...new Set<number>(refusals)].sort(),
  )
})

test('docs/reference/api.md lists exactly the tenant settings that the service reads', () => {
  const { properties } = TenantChange.properties.settings as { properties?: object }
  const told = tableOf('docs/reference/api.md', 'Setting').map(([name]) => named(name))
  expect(told).toEqual(Object.keys(properties ?? {}))
})

describe('the table of docs/reference/api.md', () => {
  test('has each of the 63 specified operations and each later operation once', () => {
    expect(told.map((row) => row.name).toSorted()).toEqual(
      [...SPECIFIED, ...ADDED].map(nameOf).sort(),
    )
  })

  test.each([...SPECIFIED, ...ADDED].map((row) => ({ ...row, name: nameOf(row) })))(
    'states the success status and the need for a token: $name',
    (row) => {
      const found = rowOf(row.name)
      expect(found?.success).toBe(row.success)
      expect(found?.who === 'anyone' ? 'none' : 'bearer').toBe(row.auth)
      expect(found?.does).toMatch(/\w/)
    },
  )

  test.each(BUILT.map(nameOf))('states the callers, the input and the statuses: %s', (name) => {
    const op = operations.find((op) => nameOf(op) === name) as AnyOperation
    const { who, input, others } = rowOf(name) ?? {}
    expect({ who, input, others }).toEqual({
      who: WHO[op.access.name],
      input: inputOf(op),
      others: statusesOf(op).filter((status) => status !== op.success[0] && !isCommon(op, status)),
    })
  })
})
