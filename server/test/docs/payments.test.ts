/** The tables of docs/how-to/integrate/payments.md match the code, in both directions. */
import { expect, test } from 'vitest'
import { UNUSABLE_REASONS } from '../../src/features/payments/payment-facts.ts'
import { NOTIFICATION_STATES } from '../../src/features/payments/payments.table.ts'
import { named, tableOf } from './documents.ts'

test('docs/how-to/integrate/payments.md lists each state of a notification once, and no unknown state', () => {
  const told = tableOf('docs/how-to/integrate/payments.md', 'State').map(([state]) => named(state))
  expect(told).toEqual([...NOTIFICATION_STATES])
})

test('docs/how-to/integrate/payments.md lists each reason once, with its meaning and a remedy', () => {
  const rows = tableOf('docs/how-to/integrate/payments.md', 'Reason')
  expect(rows.map(([reason, meaning]) => [named(reason), meaning])).toEqual(
    Object.entries(UNUSABLE_REASONS),
  )
  for (const [reason, , advice] of rows) expect(advice, reason).toMatch(/^[A-Z].*\.$/)
})
