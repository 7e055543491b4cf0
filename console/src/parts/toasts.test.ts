import { expect, test } from 'vitest'
import { clearToasts, currentToasts, showToast } from './toasts.ts'

test('the message area dismisses all messages at once', () => {
  showToast('Renamed.', () => undefined)
  showToast('Saved.')
  expect(currentToasts()).toHaveLength(2)
  clearToasts()
  expect(currentToasts()).toEqual([])
})
