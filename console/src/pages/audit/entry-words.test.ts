import { expect, test } from 'vitest'
import { meaningOfEntry, recordOf, resourceTypeName, shortMeaning, whoOf } from './entry-words.ts'

const nobody = { user_id: null, user_name: null, user_email: null, ip: null }

test.each([
  [{ ...nobody, user_id: 7, user_name: 'Ada Ministra', user_email: 'ada@x.test' }, 'Ada Ministra'],
  [{ ...nobody, user_id: 7, user_email: 'ada@x.test' }, 'ada@x.test'],
  [{ ...nobody, user_id: 7 }, 'User 7'],
  [nobody, 'the service'],
  [{ ...nobody, ip: '203.0.113.7' }, 'Not signed in'],
])('the audit log names the author of an entry: %j', (entry, who) => {
  expect(whoOf(entry)).toBe(who)
})

test.each([
  ['user', '57', 'Nora Nurse', 'Nora Nurse'],
  ['user', '57', null, 'User 57'],
  ['audit_log', null, null, 'Audit log'],
  ['a_new_type', '5', null, 'a_new_type 5'],
])(
  'the audit log names the record of an entry: %s %s',
  (resource_type, resource_id, resource_name, name) => {
    expect(recordOf({ resource_type, resource_id, resource_name })).toBe(name)
  },
)

test.each([
  ['user', { before: { full_name: 'Nora Nurse' }, after: null }, 'Nora Nurse'],
  ['department', { before: { name: 'Surgery' }, after: null }, 'Surgery'],
  ['department', { before: { name: 'Old' }, after: { name: 'New' } }, 'New'],
  ['payment', { provider_payment_id: 'pay_4f2b' }, 'pay_4f2b'],
  ['fix', { key: 'departments.head' }, 'departments.head'],
  ['user', { before: { role: 'nurse' }, after: { role: 'doctor' } }, 'User 57'],
  ['audit_key', { before: { key: 'demo+1' }, after: { key: 'demo+2' } }, 'Key of the audit log 57'],
])(
  'the audit log names a %s by the details of the entry if it has no current name: %j',
  (resource_type, changes, name) => {
    const entry = { resource_type, resource_id: '57', resource_name: null, changes }
    expect(recordOf(entry)).toBe(name)
    expect(recordOf({ ...entry, resource_name: 'Today' })).toBe('Today')
  },
)

test('the audit log shortens the id of a backup', () => {
  const resource_id = 'b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11'
  expect(recordOf({ resource_type: 'backup', resource_id, resource_name: null })).toBe(
    'Backup b0c5a7f4',
  )
})

test('the audit log distinguishes a test restore from a reading of the file', () => {
  const meaningOf = (action: string) => `Meaning of ${action}`
  const meaning = (action: string, changes: Record<string, unknown>) =>
    meaningOfEntry({ action, changes }, meaningOf)
  expect(meaning('backup.verified', { drill_seconds: 41.2 })).toMatch(/^A test restored/)
  expect(meaning('backup.verified', { type: 'full' })).toMatch(/^The file of a backup/)
  expect(meaning('backup.created', {})).toBe('Meaning of backup.created')
})

test('the audit log shows an unknown resource type unchanged', () => {
  expect(resourceTypeName('constructor')).toBe('constructor')
})

test('the audit log shortens the meaning of an action to its main clause', () => {
  expect(shortMeaning('A tenant was deleted; it can be restored')).toBe('A tenant was deleted')
  expect(shortMeaning('A user signed in')).toBe('A user signed in')
})
