import { expect, test } from 'vitest'
import { journalEntry } from './entry.ts'

test('the entry names the row and its tenant, and nothing else of the row', () => {
  const row = { id: 7, tenant_id: 3, name: 'Cardiology' }
  expect(journalEntry('department.created', 'department', row)).toEqual({
    action: 'department.created',
    tenant_id: 3,
    resource_type: 'department',
    resource_id: 7,
  })
})
