/** The tables of docs/payments.md say what the code says, both ways. */
import { expect, test } from 'vitest'
import { REASONS } from '../../src/features/payments/payment-facts.ts'
import { NOTIFICATION_STATES } from '../../src/features/payments/payments.table.ts'
import { named, tableOf } from './documents.ts'

test('docs/payments.md has every state of a notification once, and no other', () => {
  const told = tableOf('docs/payments.md', 'State').map(([state]) => named(state))
  expect(told).toEqual([...NOTIFICATION_STATES])
})

test('docs/payments.md has every reason once with its meaning, and says what to do', () => {
  const rows = tableOf('docs/payments.md', 'Reason')
  expect(rows.map(([reason, meaning]) => [named(reason), meaning])).toEqual(Object.entries(REASONS))
  for (const [reason, , advice] of rows) expect(advice, reason).toMatch(/^[A-Z].*\.$/)
})
