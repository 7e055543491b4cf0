import { expect, test } from 'vitest'
import { fieldNames } from './entry-changes.texts.ts'
import { readChanges } from './entry-changes.ts'

const read = (action: string, changes: Record<string, unknown> | null) =>
  readChanges({ action, resource_type: action.split('.')[0] ?? '', changes })

test('the audit entry panel describes the old and new values of a change in words', () => {
  const { difference, facts } = read('user.role_changed', {
    before: { role: 'nurse', status: 'active' },
    after: { role: 'doctor', status: 'blocked' },
    sessions: 3,
  })
  expect(difference).toMatchObject({
    before: { role: 'Nurse', status: 'Active' },
    after: { role: 'Doctor', status: 'Blocked' },
  })
  expect(facts).toEqual([['sessions', 3]])
})

test.each([
  ['user.password_changed', { before: {}, after: {}, by: 'administrator' }, ['password']],
  ['webhook.updated', { before: {}, after: {}, secret: 'changed' }, ['secret']],
  ['patient.updated', { fields: ['phone', 'address'] }, ['phone', 'address']],
])(
  'the audit entry panel lists the changed fields as hidden if an entry of %s has no values',
  (action, changes, fields) => {
    const { difference } = read(action, changes)
    expect([...(difference?.hidden ?? [])]).toEqual(fields)
    expect(Object.keys(difference?.before ?? {})).toEqual(fields)
  },
)

test('the audit entry panel lists the other details of an entry as facts', () => {
  expect(read('backup.created', { type: 'tenant', records: 5 })).toEqual({
    facts: [
      ['type', 'tenant'],
      ['records', '5'],
    ],
  })
  expect(read('auth.login', null)).toEqual({ facts: [] })
})

test('the audit entry panel formats the duration and the records of a test restore', () => {
  const { facts } = read('backup.verified', {
    type: 'full',
    drill_seconds: 41.237,
    records: 21_480,
  })
  expect(facts).toEqual([
    ['type', 'full'],
    ['drill_seconds', '41 s'],
    ['records', '21,480'],
  ])
  expect(fieldNames.drill_seconds).toBe('Duration of the test')
})

test('the audit entry panel shows the size and hash of a long value that the journal does not store', () => {
  const { difference } = read('tenant.updated', {
    before: { settings: { note: 'short' } },
    after: { settings: { note: { sha256: '2c26', bytes: 2048 } } },
  })
  expect(difference?.after).toEqual({ settings: { note: '2,048 bytes, kept as SHA-256 2c26' } })
})
