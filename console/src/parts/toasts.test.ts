import { expect, test } from 'vitest'
import { clearToasts, currentToasts, showToast } from './toasts.ts'

test('removes all messages', () => {
  showToast('Renamed.', () => undefined)
  showToast('Saved.')
  expect(currentToasts()).toHaveLength(2)
  clearToasts()
  expect(currentToasts()).toEqual([])
})
