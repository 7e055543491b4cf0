/** The variables of the root key. */
import { parseKey } from '../platform/crypto/index.ts'
import { variable } from './variable.ts'

const isProduction = (env: NodeJS.ProcessEnv) => env.NODE_ENV === 'production'

export const KEY_VARIABLES = {
  ENCRYPTION_KEY: variable({
    meaning: 'root key: 32 bytes in base64 or hex',
    default: 'a file `root.key` (0600) in DATA_DIR; in production none, and the start is refused',
    read: (text, env) => {
      if (text === undefined && isProduction(env) && !env.ENCRYPTION_KEY_FILE)
        throw new Error(
          'is needed in production (or ENCRYPTION_KEY_FILE); make one with `openssl rand -base64 32`',
        )
      return rootKey(text)
    },
  }),
  ENCRYPTION_KEY_FILE: variable({
    meaning: 'file that holds the root key, in place of ENCRYPTION_KEY',
    default: 'none',
    read: insteadOf('ENCRYPTION_KEY'),
  }),
  ENCRYPTION_KEY_NEXT: variable({
    meaning: 'root key that `wardkeep keys rotate-root` puts in the place of the current one',
    default: 'none; for `root.key` in DATA_DIR one is made',
    read: rootKey,
  }),
  ENCRYPTION_KEY_NEXT_FILE: variable({
    meaning: 'file that holds it, in place of ENCRYPTION_KEY_NEXT',
    default: 'none',
    read: insteadOf('ENCRYPTION_KEY_NEXT'),
  }),
}

function rootKey(text: string | undefined): Buffer | undefined {
  if (text === undefined) return undefined
  const key = parseKey(text)
  if (!key)
    throw new Error('must be 32 bytes in base64 or hex, such as `openssl rand -base64 32` makes')
  return key
}

function insteadOf(variable: string) {
  return (text: string | undefined, env: NodeJS.ProcessEnv): string | undefined => {
    if (text && env[variable]) throw new Error(`is set together with ${variable}; keep one`)
    return text
  }
}
