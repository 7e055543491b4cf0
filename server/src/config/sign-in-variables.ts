import { integer, oneOf, variable } from './variable.ts'

export const SIGN_IN_VARIABLES = {
  PASSWORD_MEMORY_KIB: variable({
    meaning: 'Memory of one argon2id hash in KiB',
    default: '19456',
    read: integer(19_456, 19_456, 4_194_304),
  }),
  PASSWORD_PASSES: variable({
    meaning: 'Passes of one argon2id hash',
    default: '2',
    read: integer(2, 2, 100),
  }),
  EMAIL_VERIFICATION: variable({
    meaning:
      '`required` or `optional`: whether users must confirm their e-mail address before they can sign in. Applies when SMTP_URL is set.',
    default: 'required',
    read: oneOf('required', ['required', 'optional']),
  }),
  SIGNING_KEY_DAYS: variable({
    meaning: 'Days until the key that signs access tokens is replaced',
    default: '90',
    read: integer(90, 1, 3650),
  }),
}
