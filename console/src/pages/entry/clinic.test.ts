import { expect, test } from 'vitest'
import { subdomainOf } from './clinic.ts'

const LISTED = [{ name: 'North Clinic', subdomain: 'north' }]

test.each([
  ['north', 'north'],
  [' NORTH ', 'north'],
  ['north clinic', 'north'],
  ['hidden', 'hidden'],
  ['', undefined],
  ['  ', undefined],
])('the sign-in page reads the typed clinic name %j as %j', (typed, subdomain) => {
  expect(subdomainOf(typed, LISTED)).toBe(subdomain)
})
