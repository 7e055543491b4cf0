/** Sixteen requests use one unique value: one succeeds, and the others get an error that names the field. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { atOnce, tally } from './race.ts'

let nodes: [Service, Service]
let root: Person
let clinic: Clinic

beforeAll(async () => {
  const first = await openService()
  nodes = [first, await openService({ database: first.database })]
  root = await superadmin(first)
  clinic = await makeClinic(first, root, 'north')
})

const either = (index: number): Service => nodes[index % 2] as Service
/** Returns the word in a different case for each index. */
const cased = (word: string, index: number) => (index % 3 === 0 ? word.toUpperCase() : word)

describe('only one of sixteen concurrent requests', () => {
  test('gets an e-mail address, in any letter case', async () => {
    const answers = await atOnce((index) =>
      either(index).call('POST', '/api/admin/users', {
        token: clinic.people.admin.token,
        body: {
          email: cased('wanted@north.test', index),
          password: PASSWORD,
          full_name: `Number ${index}`,
          role: 'nurse',
        },
      }),
    )
    expect(tally(answers)).toEqual({ 201: 1, 409: 15 })
    expectConflicts(answers, 'email_taken')
    expect(await journaled('user.created', answers)).toBe(1)
  })

  test('gets a subdomain', async () => {
    const answers = await atOnce((index) =>
      either(index).call('POST', '/api/admin/tenants', {
        token: root.token,
        body: { name: `Clinic ${index}`, subdomain: 'wanted' },
      }),
    )
    expect(tally(answers)).toEqual({ 201: 1, 409: 15 })
    expectConflicts(answers, 'subdomain_taken')
    expect(await journaled('tenant.created', answers)).toBe(1)
  })

  test('gets the name of a new department, in any letter case', async () => {
    const answers = await atOnce((index) =>
      either(index).call('POST', '/api/admin/departments', {
        token: clinic.people.admin.token,
        body: { name: cased('Wanted', index) },
      }),
    )
    expect(tally(answers)).toEqual({ 201: 1, 409: 15 })
    expectConflicts(answers, 'department_name_taken')
    expect(await journaled('department.created', answers)).toBe(1)
  })

  test('gets the name to which all of them rename their departments', async () => {
    const { token } = clinic.people.admin
    const made = await atOnce((index) =>
      either(index).call('POST', '/api/admin/departments', {
        token,
        body: { name: `Own ${index}` },
      }),
    )
    const answers = await atOnce((index) =>
      either(index).call('PUT', `/api/admin/departments/${made[index]?.body.id}`, {
        token,
        body: { name: 'Common' },
      }),
    )
    expect(tally(answers)).toEqual({ 200: 1, 409: 15 })
  })
})

test('concurrent requests can use the same address in two tenants', async () => {
  const other = await makeClinic(nodes[0], root, 'south')
  const answers = await atOnce(
    (index) =>
      either(index).call('POST', '/api/admin/users', {
        token: root.token,
        body: {
          email: 'twin@both.test',
          password: PASSWORD,
          full_name: 'Twin',
          role: 'nurse',
          tenant_id: index === 0 ? clinic.id : other.id,
        },
      }),
    2,
  )
  expect(tally(answers)).toEqual({ 201: 2 })
})

function expectConflicts(answers: { status: number; body: any }[], code: string): void {
  for (const { status, body } of answers) if (status === 409) expect(body.code).toBe(code)
}

/** Counts the journal entries of the action about the records that the answers created. */
async function journaled(action: string, answers: { status: number; body: any }[]) {
  const id = answers.find(({ status }) => status === 201)?.body.id
  const rows = await nodes[0].database.sql(
    'select 1 from journal where action = $1 and resource_id = $2',
    [action, String(id)],
  )
  return rows.length
}
