import { expect, test } from 'vitest'
import { clearToasts, currentToasts, showToast } from './toasts.ts'

test('dismisses all messages at once', () => {
  showToast('Renamed.', () => undefined)
  showToast('Saved.')
  expect(currentToasts()).toHaveLength(2)
  clearToasts()
  expect(currentToasts()).toEqual([])
})
