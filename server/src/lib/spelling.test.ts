import { expect, test } from 'vitest'
import { misspelt } from './spelling.ts'

const KNOWN = ['registration', 'require_totp', 'listed', 'PORT', 'HOST', 'SMTP_URL']

test.each([
  ['reqire_totp', 'require_totp'],
  ['require-totp', 'require_totp'],
  ['requiretotp', 'require_totp'],
  ['registraiton', 'registration'],
  ['SMTP_URl', 'SMTP_URL'],
  ['lsited', 'listed'],
  ['POTR', 'PORT'],
])('the spelling check suggests %s for %s', (name, meant) => {
  expect(misspelt(name, KNOWN)).toBe(meant)
})

test.each(['registration', 'PORT', 'theme', 'MOST_OF', 'PATH', 'require_everything', ''])(
  'the spelling check suggests nothing for %j, which resembles no known name',
  (name) => {
    expect(misspelt(name, KNOWN)).toBeUndefined()
  },
)
