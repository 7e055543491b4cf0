/** Tests the rules for new passwords, and their error messages. */
import { describe, expect, test } from 'vitest'
import { InvalidInput } from '../../lib/problems.ts'
import { refuseWeakPassword } from './password-rules.ts'

const issues = (password: string, email = 'nora.nurse@clinic.test') => {
  try {
    refuseWeakPassword(password, email, ['body', 'password'])
    return []
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return error.issues
  }
}

test.each([' '.repeat(8), '\u00a0'.repeat(12), '\t \u200b\u2003      '])(
  'the password check rejects a blank password: %j',
  (password) => {
    expect(issues(password)).toMatchObject([
      { msg: 'Value error, the password must not consist of spaces only' },
    ])
  },
)

describe('weak passwords', () => {
  test.each([
    'password',
    'PASSWORD',
    'Password',
    'iloveyou',
    'password1',
    '12345678',
    'ｐａｓｓｗｏｒｄ',
  ])('rejects a password as common as "%s"', (password) => {
    expect(issues(password)).toEqual([
      {
        loc: ['body', 'password'],
        type: 'value_error',
        msg: expect.stringMatching(/^Value error, .*common/),
      },
    ])
  })

  test.each(['nora.nurse', 'xxNORA.NURSExx', 'my-nora.nurse-99'])(
    'rejects a password that contains the local part of the e-mail address: "%s"',
    (password) => {
      expect(issues(password)).toEqual([
        expect.objectContaining({ type: 'value_error', msg: expect.stringContaining('e-mail') }),
      ])
    },
  )
})

describe('acceptable passwords', () => {
  test.each(['correct-Horse-9', 'nora-Forest', 'nurse.nora', 'clinic.test', 'x'.repeat(128)])(
    'accepts "%s", which no rule forbids',
    (password) => {
      expect(issues(password)).toEqual([])
    },
  )

  test('ignores a local part that is too short to be significant', () => {
    expect(issues('abacus-Forest', 'ab@clinic.test')).toEqual([])
    expect(issues('abacus-Forest', 'aba@clinic.test')).toHaveLength(1)
  })

  test('accepts a password if there is no e-mail address to compare with', () => {
    expect(issues('correct-Horse-9', '')).toEqual([])
    expect(issues('correct-Horse-9', '@')).toEqual([])
  })
})
