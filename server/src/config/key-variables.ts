import { parseKey } from '../platform/crypto/index.ts'
import { isProduction, variable } from './variable.ts'

export const KEY_VARIABLES = {
  ENCRYPTION_KEY: variable({
    meaning: 'Root key: 32 bytes in base64 or hex',
    default: 'the file `root.key` in DATA_DIR, created if missing. Required in production.',
    read: (text, env) => {
      if (text === undefined && isProduction(env) && !env.ENCRYPTION_KEY_FILE)
        throw new Error(
          'is required in production (or set ENCRYPTION_KEY_FILE). Create a key with `openssl rand -base64 32`',
        )
      return rootKey(text)
    },
  }),
  ENCRYPTION_KEY_FILE: variable({
    meaning: 'File with the root key, in place of ENCRYPTION_KEY',
    default: 'none',
    read: insteadOf('ENCRYPTION_KEY'),
  }),
  ENCRYPTION_KEY_NEXT: variable({
    meaning: 'Root key that `wardkeep keys rotate-root` changes to',
    default: 'none; for `root.key` in DATA_DIR a key is generated',
    read: rootKey,
  }),
  ENCRYPTION_KEY_NEXT_FILE: variable({
    meaning: 'File with that root key, in place of ENCRYPTION_KEY_NEXT',
    default: 'none',
    read: insteadOf('ENCRYPTION_KEY_NEXT'),
  }),
}

function rootKey(text: string | undefined): Buffer | undefined {
  if (text === undefined) return undefined
  const key = parseKey(text)
  if (!key)
    throw new Error(
      'must be 32 bytes in base64 or hex. Create a key with `openssl rand -base64 32`',
    )
  return key
}

function insteadOf(variable: string) {
  return (text: string | undefined, env: NodeJS.ProcessEnv): string | undefined => {
    if (text && env[variable])
      throw new Error(`cannot be set together with ${variable}. Remove one of them`)
    return text
  }
}
