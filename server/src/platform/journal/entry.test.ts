import { expect, test } from 'vitest'
import { journalEntry } from './entry.ts'

test('the service builds a journal entry with the ID and tenant of the row, and no other columns', () => {
  const row = { id: 7, tenant_id: 3, name: 'Cardiology' }
  expect(journalEntry('department.created', 'department', row)).toEqual({
    action: 'department.created',
    tenant_id: 3,
    resource_type: 'department',
    resource_id: 7,
  })
})
