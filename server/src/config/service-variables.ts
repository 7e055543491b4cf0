import { flag, host, integer, isProduction, oneOf, variable } from './variable.ts'

export const SERVICE_VARIABLES = {
  PORT: variable({
    meaning: 'TCP port of the API and the console',
    default: '8080',
    read: integer(8080, 0, 65_535),
  }),
  HOST: variable({
    meaning: 'Address to listen on. `0.0.0.0` listens on all addresses.',
    default: '127.0.0.1',
    read: host,
  }),
  NODE_ENV: variable({
    meaning:
      '`production`, `development` or `test`. With `production`, the start requires a root key and PUBLIC_URL, and no demo tenant is created.',
    default: '`development`',
    read: oneOf('development', ['production', 'development', 'test']),
  }),
  PUBLIC_URL: variable({
    meaning:
      'URL at which people reach the service. All links in mails begin with this URL, and it is the issuer of access tokens.',
    default:
      '`http://` with HOST and PORT. Required in production, and with SMTP_URL unless HOST is the loopback address.',
    read: (text, env) => {
      if (text === undefined) return ownUrl(env)
      if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
        throw new Error('must be an http or https URL')
      // The service appends paths to the URL, so it must not have a query or a fragment.
      if (/[?#]/.test(text))
        throw new Error(
          'must not contain a query or fragment. Remove `?` or `#` and everything after it',
        )
      return text.replace(/\/+$/, '')
    },
  }),
  TENANT_MODE: variable({
    meaning:
      '`multi`: the sign-in names a tenant. `single`: the installation has one tenant, and no name is needed.',
    default: 'multi',
    read: oneOf('multi', ['multi', 'single']),
  }),
  DEMO: variable({
    meaning: 'Whether to create the demo tenant',
    default: '`true`, except in production, where `true` is rejected',
    read: (text, env) => {
      const wanted = flag(text, !isProduction(env))
      if (wanted && isProduction(env)) throw new Error('must not be true with NODE_ENV=production')
      return wanted
    },
  }),
  DATA_DIR: variable({
    meaning: 'Folder for the embedded database, the root key, backups and undelivered mails',
    default: '`./data`, or `/var/lib/wardkeep` when started by root',
    read: (text) => text ?? (isRoot() ? '/var/lib/wardkeep' : './data'),
  }),
  BOOTSTRAP_ADMIN_EMAIL: variable({
    meaning: 'E-mail address of the first superadmin',
    default: 'admin@platform.local',
    read: (text = 'admin@platform.local') => {
      if (!/^[!-?A-~]+@[!-?A-~]+$/.test(text)) throw new Error('must be an e-mail address in ASCII')
      return text
    },
  }),
  BOOTSTRAP_ADMIN_PASSWORD: variable({
    meaning: 'Password of the first superadmin, 8 to 128 characters',
    default: 'generated, and shown once on a terminal or written to `DATA_DIR/first-password`',
    read: (text) => {
      if (text !== undefined && (text.length < 8 || text.length > 128))
        throw new Error('must have 8 to 128 characters')
      return text
    },
  }),
  TENANT_PURGE_DAYS: variable({
    meaning: 'Days until a deleted tenant is destroyed with its data key',
    default: '30',
    read: integer(30, 1, 3650),
  }),
  UV_THREADPOOL_SIZE: variable({
    meaning:
      'Threads of Node.js for password hashes and files. As many passwords are hashed at a time as there are processors, but at most one fewer than these threads.',
    default: '4; the launcher sets the number of processors plus one',
    read: integer(4, 1, 1024),
  }),
}

const isRoot = () => process.getuid?.() === 0

/** Requires PUBLIC_URL for links and tokens, unless users reach the service at HOST and PORT. */
function ownUrl(env: NodeJS.ProcessEnv): undefined {
  const isLocal = /^(localhost|127\.[\d.]+|::1)?$/.test(env.HOST ?? '')
  if (isProduction(env) || (env.SMTP_URL && !isLocal))
    throw new Error(
      `is required ${isProduction(env) ? 'in production' : 'with SMTP_URL'}. Set it to the URL at which users reach the service, such as https://clinic.example.org`,
    )
  return undefined
}
