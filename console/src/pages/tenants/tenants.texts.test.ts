import { expect, it } from 'vitest'
import { tenantTexts as texts } from './tenants.texts.ts'

it('says how many users a clinic has, up to the number that the API counts', () => {
  expect(texts.usersOf(10_000)).toBe('10,000')
  expect(texts.usersOf(10_001)).toBe('more than 10,000')
  expect(texts.remove.body(2)).toBe('Its 2 users are signed out at once.')
  expect(texts.remove.body(10_001)).toBe('Its users are signed out at once.')
  expect(texts.deactivate.body(10_001)).toMatch(/^Its users are signed out at once/)
})
