/** Tests the conversion of e-mail addresses to one canonical spelling. */
import { expect, test } from 'vitest'
import { foldEmail, isEmailShaped, isInternationalEmail } from './email.ts'

test.each([
  ['Anna@Clinic.test', 'anna@clinic.test'],
  [' anna@clinic.test\t', 'anna@clinic.test'],
  ['an\u200bna@clinic\u00ad.test', 'anna@clinic.test'],
  ['\uff21nna\uff20clinic\uff0etest', 'anna@clinic.test'],
  ['\u212aim@clinic.test', 'kim@clinic.test'],
  ['Info@Praxis-Müller.example', 'info@xn--praxis-mller-klb.example'],
  ['anna@почта.рф', 'anna@xn--80a1acny.xn--p1ai'],
  ['anna@clinic.test\u{e0061}\ufe0f\u3164', 'anna@clinic.test'],
])('the service normalizes the address %j to %s', (typed, folded) => {
  expect(foldEmail(typed)).toBe(folded)
  expect(foldEmail(folded)).toBe(folded)
})

test('the service does not replace look-alikes of ASCII letters, so that such an address matches no account', () => {
  for (const typed of ['adm\u0130n@clinic.test', '\u0430nna@clinic.test', 'ann\u00e1@clinic.test'])
    expect(foldEmail(typed)).toMatch(/[^!-~]/)
})

test.each([
  ['anna@clinic.test', true],
  ['o.neill+ward@mail.clinic.test', true],
  ['correct-Horse-9', false],
  ['correct@Horse', false],
  ['anna@clinic.test and more', false],
  ['@clinic.test', false],
  ['a@b@clinic.test', false],
  [`${'a'.repeat(65)}@clinic.test`, false],
])('the service decides whether %j is a valid e-mail address: %s', (typed, shaped) => {
  expect(isEmailShaped(typed)).toBe(shaped)
})

test.each([
  ['info@praxis-müller.example', true],
  ['jörg.müller@example.org', true],
  ['почта@почта.рф', true],
  ['anna@clinic.test', true],
  ['anna@clinic', false],
  ['anna..b@clinic.test', false],
  ['an na@clinic.test', false],
  ['anna@-clinic.test', false],
  ['anna@b@clinic.test', false],
  ['anna@clinic.test/x', false],
])(
  'the service decides whether %j is a valid internationalized e-mail address: %s',
  (typed, expected) => {
    expect(isInternationalEmail(typed)).toBe(expected)
  },
)
