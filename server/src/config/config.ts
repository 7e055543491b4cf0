/**
 * The configuration: the only reader of the environment. Every variable with its meaning and
 * default stands in one table; `docs/configuration.md` is tested against it.
 */
import { isIP } from 'node:net'
import { isBadlyPasted } from '../lib/pasted.ts'
import { misspelt } from '../lib/spelling.ts'
import { StartupError } from '../lib/startup-error.ts'
import { parseSender } from '../platform/mail/addresses.ts'
import { parseSmtpUrl } from '../platform/mail/smtp.ts'
import { parseNetworks, parseUpstreamUrl } from '../platform/net/index.ts'
import { BACKUP_VARIABLES } from './backup-variables.ts'
import { KEY_VARIABLES } from './key-variables.ts'
import { PAYGATE_VARIABLES } from './paygate-variables.ts'
import { SELF_HEALING_VARIABLES } from './self-healing-variables.ts'
import { flag, integer, list, variable } from './variable.ts'

const MIN_SECRET = 16

const isProduction = (env: NodeJS.ProcessEnv) => env.NODE_ENV === 'production'
const isRoot = () => process.getuid?.() === 0

export const VARIABLES = {
  PORT: variable({
    meaning: 'TCP port of the API',
    default: '8080',
    read: integer(8080, 0, 65_535),
  }),
  HOST: variable({
    meaning: 'address to listen on; `0.0.0.0` for all',
    default: '127.0.0.1',
    read: host,
  }),
  NODE_ENV: variable({
    meaning:
      '`production`, `development` or `test`; `production` asks for a key and for PUBLIC_URL, makes no demo',
    default: 'none: as `development`',
    read: (text = 'development') => {
      if (!['production', 'development', 'test'].includes(text))
        throw new Error('must be production, development or test')
      return text
    },
  }),
  DATABASE_URL: variable({
    meaning: 'PostgreSQL 15 or newer, `postgres://user:password@host:port/database`',
    default: 'an embedded PostgreSQL 18 in DATA_DIR',
    read: (text) => (text === undefined ? undefined : postgresUrl(text)),
  }),
  DATABASE_POOL_SIZE: variable({
    meaning:
      'connections that one process keeps for requests at the most; sign-in, webhooks, payments, the messenger, jobs, backups and notifications have up to 21 of their own',
    default: '10',
    read: integer(10, 1, 500),
  }),
  DATA_DIR: variable({
    meaning: 'folder of the embedded database, the root key, backups and the outbox',
    default: '`./data`; started by root `/var/lib/wardkeep`',
    read: (text) => text ?? (isRoot() ? '/var/lib/wardkeep' : './data'),
  }),
  ...KEY_VARIABLES,
  BOOTSTRAP_ADMIN_EMAIL: variable({
    meaning: 'e-mail address of the first superadmin',
    default: 'admin@platform.local',
    read: (text = 'admin@platform.local') => {
      if (!/^[!-?A-~]+@[!-?A-~]+$/.test(text)) throw new Error('must be an e-mail address in ASCII')
      return text
    },
  }),
  BOOTSTRAP_ADMIN_PASSWORD: variable({
    meaning: 'password of the first superadmin, 8 to 128 characters',
    default: 'generated: shown once on a terminal, else in `DATA_DIR/first-password`',
    read: (text) => {
      if (text !== undefined && (text.length < 8 || text.length > 128))
        throw new Error('must have 8 to 128 characters')
      return text
    },
  }),
  DEMO: variable({
    meaning: 'make the demo tenant',
    default: '`true` unless NODE_ENV is `production`, where it is refused',
    read: (text, env) => {
      const wanted = flag(text, !isProduction(env))
      if (wanted && isProduction(env)) throw new Error('must not be true with NODE_ENV=production')
      return wanted
    },
  }),
  PUBLIC_URL: variable({
    meaning: 'address under which people reach the service: links in mails, issuer of tokens',
    default:
      '`http://` with HOST and PORT; in production, and with SMTP_URL where HOST is not the loopback, none: the start is refused',
    read: (text, env) => {
      if (text === undefined) return ownUrl(env)
      if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
        throw new Error('must be an http or https URL')
      // Paths are put behind it.
      if (/[?#]/.test(text))
        throw new Error('must end with its path: leave out `?` or `#` and what follows')
      return text.replace(/\/+$/, '')
    },
  }),
  TENANT_MODE: variable({
    meaning: '`multi` or `single`: whether sign-in needs to be told the tenant',
    default: 'multi',
    read: (text = 'multi') => {
      if (text !== 'multi' && text !== 'single') throw new Error('must be multi or single')
      return text
    },
  }),
  TRUSTED_PROXIES: variable({
    meaning:
      'proxy hops whose `X-Forwarded-For` is believed; with 0 behind a proxy all callers share one address and its limits',
    default: '0',
    read: integer(0, 0, 10),
  }),
  CORS_ORIGINS: variable({
    meaning: 'origins that may call from a browser, separated by commas',
    default: 'none',
    read: (text = '') => origins(text),
  }),
  RATE_LIMIT_PER_MINUTE: variable({
    meaning: 'requests a minute of one address; 0 for no limit',
    default: '6000',
    read: integer(6000, 0, 10_000_000),
  }),
  AUTH_RATE_LIMIT_PER_MINUTE: variable({
    meaning:
      'sign-ins, registrations and requests for links a minute of one address, each for itself; 0 for no limit',
    default: '600',
    read: integer(600, 0, 10_000_000),
  }),
  PAYMENT_RATE_LIMIT_PER_MINUTE: variable({
    meaning:
      'payment notifications a minute of one address, of each provider for itself; 0 for no limit',
    default: '60000',
    read: integer(60_000, 0, 10_000_000),
  }),
  CARDNET_WEBHOOK_SECRET: variable({
    meaning:
      'secret that cardnet signs its notifications with, as a whole text of 16 characters or more; several, separated by commas, while one takes the place of another',
    default: 'none: its notifications are kept unverified, and not applied',
    read: (text = '') => secrets(text),
  }),
  PATIENT_CACHE_MAX_ENTRIES: variable({
    meaning: 'patients that one process holds opened in memory at the most; 0 for none',
    default: '100000',
    read: integer(100_000, 0, 10_000_000),
  }),
  PATIENT_CACHE_MAX_BYTES: variable({
    meaning: 'bytes that these take at the most',
    default: '134217728',
    read: integer(134_217_728, 0, 1_099_511_627_776),
  }),
  PATIENT_CACHE_TTL_SECONDS: variable({
    meaning: 'seconds after which one of them is read anew, although nobody has changed it',
    default: '900',
    read: integer(900, 1, 86_400),
  }),
  PATIENT_PURGE_DAYS: variable({
    meaning:
      'days for which a deleted patient can be put back; then the record is destroyed for good',
    default: '30',
    read: integer(30, 1, 3650),
  }),
  PAYMENT_INBOX_DAYS: variable({
    meaning: "days for which payment providers' notifications are kept, unverified ones 7 at most",
    default: '30',
    read: integer(30, 1, 365),
  }),
  WRITE_RATE_LIMIT_PER_MINUTE: variable({
    meaning:
      'changes a minute of one user, from wherever, and of one session what ends access; 0 for no limit',
    default: '3000',
    read: integer(3000, 0, 10_000_000),
  }),
  TENANT_WRITE_RATE_LIMIT_PER_MINUTE: variable({
    meaning: 'changes a minute of all users of one tenant; 0 for no limit',
    default: '12000',
    read: integer(12_000, 0, 10_000_000),
  }),
  UV_THREADPOOL_SIZE: variable({
    meaning:
      'threads of Node itself for password hashes and files; as many hashes run at once as it has processors, and one thread less than these',
    default: '4; the launcher sets one more than processors',
    read: integer(4, 1, 1024),
  }),
  PASSWORD_MEMORY_KIB: variable({
    meaning: 'argon2id memory of one hash in KiB',
    default: '19456',
    read: integer(19_456, 19_456, 4_194_304),
  }),
  PASSWORD_PASSES: variable({
    meaning: 'argon2id passes',
    default: '2',
    read: integer(2, 2, 100),
  }),
  EMAIL_VERIFICATION: variable({
    meaning:
      '`required` or `optional`: whether sign-in needs a confirmed address once SMTP_URL is set',
    default: 'required',
    read: (text = 'required') => {
      if (text !== 'required' && text !== 'optional')
        throw new Error('must be required or optional')
      return text
    },
  }),
  TENANT_PURGE_DAYS: variable({
    meaning: 'days after which a deleted tenant is destroyed for good, with its data key',
    default: '30',
    read: integer(30, 1, 3650),
  }),
  WEBHOOK_ALLOW_HTTP: variable({
    meaning: 'whether webhooks may also be sent to `http` URLs, unencrypted',
    default: 'false',
    read: (text) => flag(text, false),
  }),
  WEBHOOK_ALLOWED_NETWORKS: variable({
    meaning:
      'networks that webhooks may be sent to although they are not public, such as `10.1.0.0/16, fd00::/8`',
    default: 'none',
    read: (text = '') => parseNetworks(text),
  }),
  WEBHOOK_RETENTION_DAYS: variable({
    meaning: 'days for which the deliveries of webhooks are kept, and that a replay reaches back',
    default: '30',
    read: integer(30, 7, 90),
  }),
  ...PAYGATE_VARIABLES,
  ...BACKUP_VARIABLES,
  ...SELF_HEALING_VARIABLES,
  SIGNING_KEY_DAYS: variable({
    meaning: 'days after which a new key signs the access tokens',
    default: '90',
    read: integer(90, 1, 3650),
  }),
  MESSENGER_BOT_TOKEN: variable({
    meaning: 'token of the bot that tells users of events in their messenger',
    default: 'none: there is no bot',
    read: (text) => {
      if (text !== undefined && !/^(?!\.{1,2}$)[\w.~:-]{1,256}$/.test(text))
        throw new Error('must be the token alone: letters, digits and `_ - : . ~`')
      return text
    },
  }),
  MESSENGER_API_URL: variable({
    meaning: "the messenger's Bot API; nothing is sent to anywhere else",
    default: 'https://api.telegram.org',
    read: (text = 'https://api.telegram.org') => parseUpstreamUrl(text),
  }),
  MESSENGER_MODE: variable({
    meaning:
      '`polling`, which asks for what chats say, or `webhook`, which is told of it below an https PUBLIC_URL',
    default: 'polling',
    read: (text = 'polling', env) => {
      if (text !== 'polling' && text !== 'webhook') throw new Error('must be polling or webhook')
      if (text === 'webhook' && env.MESSENGER_BOT_TOKEN && !isHttps(env.PUBLIC_URL))
        throw new Error(
          'webhook needs an https PUBLIC_URL, where the messenger can reach the service',
        )
      return text
    },
  }),
  SMTP_URL: variable({
    meaning:
      'mail server, `smtp://user:password@host:587` (STARTTLS) or `smtps://…`; with `?tls=optional` also without TLS',
    default: 'none: mails go to files in `outbox` under DATA_DIR',
    read: (text) => {
      if (text !== undefined) parseSmtpUrl(text)
      return text
    },
  }),
  MAIL_FROM: variable({
    meaning: 'sender of the mails, `Name <address>`',
    default: '`Wardkeep <no-reply@…>` with the host of PUBLIC_URL, or localhost',
    read: (text, env) => {
      if (text === undefined) return `Wardkeep <no-reply@${mailHost(env.PUBLIC_URL)}>`
      if (!parseSender(text)) throw new Error('must be an address or `Name <address>`')
      return text
    },
  }),
  METRICS_PORT: variable({
    meaning: 'port of `/metrics` (Prometheus) and of `/healthz`, without a token; unset for none',
    default: 'none',
    read: (text) => (text === undefined ? undefined : integer(0, 0, 65_535)(text)),
  }),
  METRICS_HOST: variable({
    meaning: 'address that METRICS_PORT listens on',
    default: '127.0.0.1',
    read: host,
  }),
  LOG_LEVEL: variable({
    meaning:
      '`debug` (with each message of a webhook that arrived), `info`, `warn`, `error` or `silent`',
    default: 'info',
    read: (text = 'info') => {
      if (!['debug', 'info', 'warn', 'error', 'silent'].includes(text))
        throw new Error('must be debug, info, warn, error or silent')
      return text
    },
  }),
}

type Variables = typeof VARIABLES

/** The validated configuration, by the variables' names. */
export type Config = { readonly [K in keyof Variables]: ReturnType<Variables[K]['read']> }

/**
 * Reads and checks the whole configuration.
 * @throws StartupError with one line for each variable that is wrong
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const values: Record<string, unknown> = {}
  const faults: string[] = []
  for (const [name, { read }] of Object.entries(VARIABLES)) {
    try {
      // An empty variable is how compose files and shells say "not set".
      values[name] = read(env[name] === '' ? undefined : env[name], env)
    } catch (error) {
      faults.push(`${name}: ${(error as Error).message}.`)
    }
  }
  if (faults.length > 0) throw new StartupError(...faults)
  return values as Config
}

/** The edits of a long name that is probably one of ours: `TRUSTED_PROXY` is three from `TRUSTED_PROXIES`. */
const LONG_NAME = 12
const EDITS_OF_LONG_NAMES = 3

/**
 * Returns a sentence for each variable whose name is almost one of ours: it is not read, which otherwise nobody
 * would notice (decisions §12).
 */
export function misspeltVariables(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = Object.keys(VARIABLES)
  return Object.keys(env).flatMap((name) => {
    if (known.includes(name)) return []
    const upper = name.toUpperCase()
    const edits = name.length > LONG_NAME ? EDITS_OF_LONG_NAMES : undefined
    const meant = known.includes(upper) ? upper : misspelt(upper, known, edits)
    return meant
      ? [`${name} is not a variable of Wardkeep and is ignored. Did you mean ${meant}?`]
      : []
  })
}

const isHttps = (url: string | undefined) =>
  url !== undefined && URL.canParse(url) && new URL(url).protocol === 'https:'

/** What can be listened on: whether it is this machine's shows when that is tried. */
function host(text = '127.0.0.1'): string {
  if (!isIP(text) && !/^[\w-]+(\.[\w-]+)*$/.test(text))
    throw new Error('must be an IP address or the name of a host')
  return text
}

/** An IP address is no domain that a mail could come from. */
function mailHost(publicUrl: string | undefined): string {
  const host = publicUrl && URL.canParse(publicUrl) ? new URL(publicUrl).hostname : ''
  return host === '' || isIP(host.replace(/^\[(.*)\]$/, '$1')) ? 'localhost' : host
}

/** Where people do not reach the service by HOST and PORT, its links and tokens need an address. */
function ownUrl(env: NodeJS.ProcessEnv): undefined {
  const isLocal = /^(localhost|127\.[\d.]+|::1)?$/.test(env.HOST ?? '')
  if (isProduction(env) || (env.SMTP_URL && !isLocal))
    throw new Error(
      `is needed ${isProduction(env) ? 'in production' : 'with SMTP_URL'}: where people reach the service, such as https://clinic.example.org`,
    )
  return undefined
}

function postgresUrl(text: string): string {
  if (!URL.canParse(text) || !/^postgres(ql)?:$/.test(new URL(text).protocol))
    throw new Error('must be a URL such as postgres://user:password@host:5432/database')
  return text
}

/** Never told in a fault: what is wrong with a secret says what it is. */
function secrets(text: string): string[] {
  const listed = list(text)
  if (listed.some((secret) => secret.length < MIN_SECRET))
    throw new Error(`must have at least ${MIN_SECRET} characters, each secret of it`)
  if (listed.some(isBadlyPasted))
    throw new Error('has quotes or invisible characters around a secret; write the secrets alone')
  return listed
}

function origins(text: string): string[] {
  const listed = list(text)
  for (const origin of listed)
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new Error(`"${origin}" is no origin; write it as https://console.example.org`)
  return listed
}
