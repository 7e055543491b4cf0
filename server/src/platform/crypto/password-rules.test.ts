/** Which passwords are refused, and what is said of them. */
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
  'a password of blanks is refused: %j',
  (password) => {
    expect(issues(password)).toMatchObject([
      { msg: 'Value error, the password must not consist of blanks' },
    ])
  },
)

describe('a password is refused', () => {
  test.each([
    'password',
    'PASSWORD',
    'Password',
    'iloveyou',
    'password1',
    '12345678',
    'ｐａｓｓｗｏｒｄ',
  ])('when it is as common as "%s"', (password) => {
    expect(issues(password)).toEqual([
      {
        loc: ['body', 'password'],
        type: 'value_error',
        msg: expect.stringMatching(/^Value error, .*common/),
      },
    ])
  })

  test.each(['nora.nurse', 'xxNORA.NURSExx', 'my-nora.nurse-99'])(
    'when it holds the name in the address, as "%s"',
    (password) => {
      expect(issues(password)).toEqual([
        expect.objectContaining({ type: 'value_error', msg: expect.stringContaining('e-mail') }),
      ])
    },
  )
})

describe('a password is taken', () => {
  test.each(['correct-Horse-9', 'nora-Forest', 'nurse.nora', 'clinic.test', 'x'.repeat(128)])(
    'when it is none of these, as "%s"',
    (password) => {
      expect(issues(password)).toEqual([])
    },
  )

  test('when the name in the address is so short that chance puts it there', () => {
    expect(issues('abacus-Forest', 'ab@clinic.test')).toEqual([])
    expect(issues('abacus-Forest', 'aba@clinic.test')).toHaveLength(1)
  })

  test('when there is no address to compare it with', () => {
    expect(issues('correct-Horse-9', '')).toEqual([])
    expect(issues('correct-Horse-9', '@')).toEqual([])
  })
})
