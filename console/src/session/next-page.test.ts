import { expect, test } from 'vitest'
import { safeNext } from './next-page.ts'

test.each([
  ['/', '/'],
  ['/users?search=ada&open=7', '/users?search=ada&open=7'],
  ['/t/3/audit#top', '/t/3/audit#top'],
  ['/users/../audit', '/audit'],
])('the sign-in page accepts %s as the page to open after sign-in', (next, page) => {
  expect(safeNext(next)).toBe(page)
})

test.each([
  undefined,
  7,
  '',
  'users',
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/..//evil.example',
  '/.//evil.example',
  'https://evil.example/',
  'javascript:alert(1)',
  '/users\n//evil.example',
  '/\u200b/evil.example',
  `/${'a'.repeat(3000)}`,
  '/sign-in?next=/users',
  '/second-factor',
])('the sign-in page rejects %j as the page to open after sign-in', (next) => {
  expect(safeNext(next)).toBeUndefined()
})
