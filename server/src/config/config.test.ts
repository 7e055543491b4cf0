/** Tests the configuration: its defaults, the faults of each variable, and the report that lists all faults. */
import { describe, expect, test } from 'vitest'
import { StartupError } from '../lib/startup-error.ts'
import { parseNetworks } from '../platform/net/index.ts'
import { misspeltVariables, readConfig, VARIABLES } from './config.ts'

const KEY = Buffer.alloc(32, 9)

/** Returns the lines of the error for this environment. */
function faultsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof StartupError) return error.lines
    throw error
  }
  return []
}

describe('an empty environment', () => {
  test('sets every variable to its default', () => {
    const { DATA_DIR, ...config } = readConfig({})
    expect(DATA_DIR).toBe(process.getuid?.() === 0 ? '/var/lib/wardkeep' : './data')
    expect(config).toEqual({
      PORT: 8080,
      HOST: '127.0.0.1',
      NODE_ENV: 'development',
      DATABASE_URL: undefined,
      DATABASE_WAIT_SECONDS: 60,
      DATABASE_POOL_SIZE: 10,
      ENCRYPTION_KEY: undefined,
      ENCRYPTION_KEY_FILE: undefined,
      BOOTSTRAP_ADMIN_EMAIL: 'admin@platform.local',
      BOOTSTRAP_ADMIN_PASSWORD: undefined,
      DEMO: true,
      PUBLIC_URL: undefined,
      TENANT_MODE: 'multi',
      TRUSTED_PROXIES: 0,
      CORS_ORIGINS: [],
      RATE_LIMIT_PER_MINUTE: 6000,
      AUTH_RATE_LIMIT_PER_MINUTE: 600,
      CARDNET_WEBHOOK_SECRET: [],
      SESSION_CACHE_MAX: 20_000,
      PATIENT_CACHE_MAX_BYTES: 134_217_728,
      PATIENT_CACHE_MAX_ENTRIES: 100_000,
      PATIENT_CACHE_TTL_SECONDS: 900,
      PATIENT_PURGE_DAYS: 30,
      PAYMENT_INBOX_DAYS: 30,
      PAYMENT_RATE_LIMIT_PER_MINUTE: 60_000,
      WRITE_RATE_LIMIT_PER_MINUTE: 3000,
      TENANT_WRITE_RATE_LIMIT_PER_MINUTE: 12000,
      PASSWORD_MEMORY_KIB: 19_456,
      PASSWORD_PASSES: 2,
      UV_THREADPOOL_SIZE: 4,
      EMAIL_VERIFICATION: 'required',
      TENANT_PURGE_DAYS: 30,
      WEBHOOK_ALLOW_HTTP: false,
      WEBHOOK_ALLOWED_NETWORKS: [],
      WEBHOOK_RETENTION_DAYS: 30,
      MESSENGER_BOT_TOKEN: undefined,
      MESSENGER_API_URL: 'https://api.telegram.org',
      MESSENGER_MODE: 'polling',
      PAYGATE_API_URL: undefined,
      PAYGATE_SHOP_ID: undefined,
      PAYGATE_SECRET_KEY: undefined,
      PAYGATE_ALLOWED_NETWORKS: undefined,
      PAYGATE_RECONCILE_MINUTES: 60,
      BACKUP_DIR: undefined,
      BACKUP_S3_LOCK_DAYS: undefined,
      AWS_ACCESS_KEY_ID: undefined,
      AWS_SECRET_ACCESS_KEY: undefined,
      BACKUP_SCHEDULE: undefined,
      BACKUP_DRILL_SCHEDULE: undefined,
      BACKUP_KEEP: 7,
      BACKUP_AGE_RECIPIENT: [],
      SELF_HEALING: 'auto',
      SIEM_FORMAT: 'ocsf',
      SIEM_SINCE: 'now',
      AUDIT_WITNESSES: [],
      SELF_HEALING_SCAN: expect.objectContaining({ text: '*/5 * * * *' }),
      SIGNING_KEY_DAYS: 90,
      SMTP_URL: undefined,
      MAIL_FROM: 'Wardkeep <no-reply@localhost>',
      METRICS_PORT: undefined,
      METRICS_HOST: '127.0.0.1',
      LOG_LEVEL: 'info',
    })
  })

  test('has the same result as variables that are set to empty text', () => {
    const empty = Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, '']))
    expect(readConfig(empty)).toEqual(readConfig({}))
  })
})

describe('a variable', () => {
  test.each([
    ['PORT', '0', 0],
    ['PORT', '65535', 65_535],
    ['HOST', '::1', '::1'],
    ['HOST', 'fe80::1%eth0', 'fe80::1%eth0'],
    ['HOST', 'localhost', 'localhost'],
    ['WEBHOOK_ALLOW_HTTP', 'true', true],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.1.0.0/16, fd00::/8', parseNetworks('10.1.0.0/16,fd00::/8')],
    ['WEBHOOK_RETENTION_DAYS', '7', 7],
    ['WEBHOOK_RETENTION_DAYS', '90', 90],
    ['DATABASE_URL', 'postgresql://a:b@c:1/d', 'postgresql://a:b@c:1/d'],
    ['DATABASE_URL', 'postgres://a:b@c:1,d/e', 'postgres://a:b@c:1,d/e'],
    ['DATABASE_WAIT_SECONDS', '0', 0],
    ['ENCRYPTION_KEY', KEY.toString('base64'), KEY],
    ['ENCRYPTION_KEY', KEY.toString('base64url'), KEY],
    ['ENCRYPTION_KEY', KEY.toString('hex'), KEY],
    ['DEMO', '0', false],
    ['DEMO', 'true', true],
    ['PUBLIC_URL', 'https://clinic.example/app//', 'https://clinic.example/app'],
    ['TENANT_MODE', 'single', 'single'],
    [
      'CORS_ORIGINS',
      ' https://a.example , http://b.example:8080,',
      ['https://a.example', 'http://b.example:8080'],
    ],
    ['SMTP_URL', 'smtps://u:p@mail.example', 'smtps://u:p@mail.example'],
    ['MAIL_FROM', 'Clinic <a@b.example>', 'Clinic <a@b.example>'],
    ['METRICS_PORT', '9100', 9100],
    ['MESSENGER_BOT_TOKEN', '4711:A-b_c.d~e', '4711:A-b_c.d~e'],
    ['RATE_LIMIT_PER_MINUTE', '0', 0],
  ])('%s accepts "%s"', (name, text, value) => {
    expect(readConfig({ [name]: text })).toMatchObject({ [name]: value })
  })

  test.each([
    ['PORT', '65536'],
    ['WEBHOOK_ALLOW_HTTP', 'yes'],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.1.0.0/33'],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.1.2.3/16'],
    ['WEBHOOK_ALLOWED_NETWORKS', 'example.org'],
    ['WEBHOOK_RETENTION_DAYS', '6'],
    ['WEBHOOK_RETENTION_DAYS', '91'],
    ['PORT', '-1'],
    ['PORT', '8080.5'],
    ['PORT', '0x50'],
    ['PORT', ' 80'],
    ['DATABASE_URL', 'mysql://a@b/c'],
    ['DATABASE_READ_URL', 'mysql://a@b/c'],
    ['DATABASE_URL', 'localhost/db'],
    ['DATABASE_URL', 'postgres://a@b/c?connect_timeout=5'],
    ['DATABASE_POOL_SIZE', '0'],
    ['DATABASE_POOL_SIZE', '501'],
    ['ENCRYPTION_KEY', KEY.subarray(1).toString('base64')],
    ['ENCRYPTION_KEY', `${KEY.toString('hex')}00`],
    ['ENCRYPTION_KEY', 'a passphrase'],
    ['BOOTSTRAP_ADMIN_EMAIL', 'root'],
    ['BOOTSTRAP_ADMIN_EMAIL', 'two words@x'],
    ['BOOTSTRAP_ADMIN_PASSWORD', '7letter'],
    ['BOOTSTRAP_ADMIN_PASSWORD', 'x'.repeat(129)],
    ['DEMO', 'yes'],
    ['PUBLIC_URL', 'ftp://clinic.example'],
    ['PUBLIC_URL', 'clinic.example'],
    ['PUBLIC_URL', 'https://clinic.example/app?from=mail'],
    ['PUBLIC_URL', 'https://clinic.example/app?'],
    ['PUBLIC_URL', 'https://clinic.example/#start'],
    ['TENANT_MODE', 'Multi'],
    ['TRUSTED_PROXIES', '11'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'https://a.example/'],
    ['CORS_ORIGINS', 'https://a.example,b.example'],
    ['RATE_LIMIT_PER_MINUTE', '10000001'],
    ['AUTH_RATE_LIMIT_PER_MINUTE', 'none'],
    ['PASSWORD_MEMORY_KIB', '19455'],
    ['PASSWORD_PASSES', '1'],
    ['BACKUP_S3_URL', 's3://bucket'],
    ['BACKUP_AGE_RECIPIENT', 'age1qqqq'],
    ['SIGNING_KEY_DAYS', '0'],
    ['PAYGATE_RECONCILE_MINUTES', '1441'],
    ['SMTP_URL', 'mail.example'],
    ['SMTP_URL', 'smtp://u:p@mail.example?tls=optional'],
    ['MAIL_FROM', 'Clinic'],
    ['METRICS_PORT', 'on'],
    ['MESSENGER_API_URL', 'api.example'],
    ['MESSENGER_MODE', 'push'],
    ['LOG_LEVEL', 'trace'],
  ])('%s rejects "%s"', (name, text) => {
    expect(faultsOf({ [name]: text })).toEqual([expect.stringMatching(`^${name}: .+\\.$`)])
  })

  test('has a description and a default for the documentation', () => {
    for (const { meaning, default: fallback } of Object.values(VARIABLES)) {
      expect(meaning).not.toBe('')
      expect(fallback).not.toBe('')
    }
  })
})

test.each([
  [undefined, 'localhost'],
  ['https://clinic.example:8443/app', 'clinic.example'],
  ['http://192.0.2.1', 'localhost'],
  ['http://[::1]:8080', 'localhost'],
])(
  'the configuration uses a sender address for mails of a service at %s: %s',
  (PUBLIC_URL, host) => {
    const { MAIL_FROM } = readConfig(PUBLIC_URL ? { PUBLIC_URL } : {})
    expect(MAIL_FROM).toBe(`Wardkeep <no-reply@${host}>`)
  },
)

test.each(['0.0.0.0', '::', '192.0.2.1', 'clinic.internal'])(
  'the configuration requires PUBLIC_URL for mails if the service listens on %s',
  (HOST) => {
    const env = { HOST, SMTP_URL: 'smtp://127.0.0.1' }
    expect(faultsOf(env)).toEqual([
      expect.stringMatching(/^PUBLIC_URL: is required with SMTP_URL\. /),
    ])
    expect(faultsOf({ ...env, PUBLIC_URL: 'https://clinic.example' })).toEqual([])
    expect(faultsOf({ HOST })).toEqual([])
  },
)

test.each(['', '127.0.0.1', '127.1.2.3', '::1', 'localhost'])(
  'the configuration does not require PUBLIC_URL if the service listens on "%s"',
  (HOST) => {
    expect(faultsOf({ HOST, SMTP_URL: 'smtp://127.0.0.1' })).toEqual([])
  },
)

describe('production', () => {
  const production = { NODE_ENV: 'production', PUBLIC_URL: 'https://clinic.example' }

  test('requires the public URL that links and tokens contain', () => {
    const { PUBLIC_URL: _, ...unnamed } = production
    expect(faultsOf({ ...unnamed, ENCRYPTION_KEY_FILE: '/key' })).toEqual([
      expect.stringMatching(/^PUBLIC_URL: is required in production. .*https:/),
    ])
  })

  test('requires a key, in a variable or in a file', () => {
    expect(faultsOf(production)).toEqual([expect.stringMatching(/^ENCRYPTION_KEY: is required/)])
    expect(faultsOf({ ...production, ENCRYPTION_KEY_FILE: '/key' })).toEqual([])
    expect(faultsOf({ ...production, ENCRYPTION_KEY: KEY.toString('hex') })).toEqual([])
  })

  test('creates no demo, and rejects a configured demo', () => {
    const keyed = { ...production, ENCRYPTION_KEY: KEY.toString('hex') }
    expect(readConfig(keyed).DEMO).toBe(false)
    expect(readConfig({ ...keyed, DEMO: 'false' }).DEMO).toBe(false)
    expect(faultsOf({ ...keyed, DEMO: 'true' })).toEqual([expect.stringMatching(/^DEMO: /)])
  })
})

test('the configuration rejects a key together with a key file', () => {
  const both = { ENCRYPTION_KEY: KEY.toString('hex'), ENCRYPTION_KEY_FILE: '/key' }
  expect(faultsOf(both)).toEqual([expect.stringMatching(/^ENCRYPTION_KEY_FILE: .*Remove one/)])
})

test('the configuration reports the faults of all variables together, without secret values', () => {
  const env = {
    PORT: 'x',
    ENCRYPTION_KEY: 'my-secret-key',
    DEMO: 'x',
    BOOTSTRAP_ADMIN_PASSWORD: 'hunter2',
    DATABASE_URL: 'db:hunter3@host',
    DATABASE_READ_URL: 'db:hunter5@host',
    SMTP_URL: 'mail:hunter4@host',
  }
  const lines = faultsOf(env)
  expect(lines.map((line) => line.split(':')[0]).sort()).toEqual(Object.keys(env).sort())
  expect(lines.join()).not.toMatch(/my-secret-key|hunter/)
})

describe('a bucket of backups', () => {
  const BACKUP_S3_URL = 'https://s3.example/bucket'
  const KEYS = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'hunter2' }
  const found = (accessKeyId: string, secretAccessKey: string) => ({
    BACKUP_S3_URL: { credentials: { accessKeyId, secretAccessKey } },
  })

  test('reads its access key from the URL or from other variables', () => {
    expect(readConfig({ BACKUP_S3_URL, ...KEYS })).toMatchObject(found('AKIA', 'hunter2'))
    const own = { BACKUP_S3_URL: 'https://a:b@s3.example/bucket', ...KEYS }
    expect(readConfig(own)).toMatchObject(found('a', 'b'))
    expect(readConfig({ ...own, BACKUP_S3_LOCK_DAYS: '30' }).BACKUP_S3_LOCK_DAYS).toBe(30)
  })

  test.each([
    [{ BACKUP_S3_URL }, /^BACKUP_S3_URL: requires an access key/],
    [{ BACKUP_S3_URL, AWS_ACCESS_KEY_ID: 'AKIA' }, /^BACKUP_S3_URL: requires an access key/],
    [{ BACKUP_S3_URL, ...KEYS, BACKUP_DIR: '/x' }, /^BACKUP_S3_URL: .*BACKUP_DIR\. Remove one/],
    [{ BACKUP_S3_URL, ...KEYS, BACKUP_S3_LOCK_DAYS: '0' }, /^BACKUP_S3_LOCK_DAYS: must be a whole/],
    [{ BACKUP_S3_LOCK_DAYS: '9' }, /^BACKUP_S3_LOCK_DAYS: requires BACKUP_S3_URL/],
    [{ BACKUP_S3_URL: 'https://AKIA:hunter2@s3.example' }, /^BACKUP_S3_URL: must include a bucket/],
  ])('gets one error for the faulty settings %o', (env, line) => {
    expect(faultsOf(env)).toEqual([expect.stringMatching(line)])
    expect(faultsOf(env).join()).not.toContain('hunter2')
  })
})

describe('the messenger', () => {
  test.each([
    '4711:secret/getMe',
    '4711:secret?',
    '4711:secret key',
    '4711%3Asecret',
    '..',
    'x'.repeat(257),
  ])(
    'rejects the token "%s" without printing it, because tokens become part of a URL path',
    (token) => {
      const faults = faultsOf({ MESSENGER_BOT_TOKEN: token })
      expect(faults).toEqual([
        expect.stringMatching(/^MESSENGER_BOT_TOKEN: must be the token only/),
      ])
      expect(faults.join()).not.toMatch(/secret|xxx/)
    },
  )

  const HOOKED = { MESSENGER_MODE: 'webhook', MESSENGER_BOT_TOKEN: '4711:secret' }

  test.each(['', 'http://clinic.example', 'http://localhost:8080'])(
    'rejects webhook mode with the PUBLIC_URL "%s"',
    (PUBLIC_URL) => {
      expect(faultsOf({ ...HOOKED, PUBLIC_URL })).toEqual([
        expect.stringMatching(/^MESSENGER_MODE: webhook requires an https PUBLIC_URL/),
      ])
    },
  )

  test('requires an https URL only for a bot in webhook mode', () => {
    expect(faultsOf({ ...HOOKED, PUBLIC_URL: 'https://clinic.example' })).toEqual([])
    expect(faultsOf({ ...HOOKED, MESSENGER_MODE: 'polling' })).toEqual([])
    expect(faultsOf({ ...HOOKED, MESSENGER_BOT_TOKEN: '' })).toEqual([])
  })
})

describe('paygate', () => {
  const ALL = {
    PAYGATE_API_URL: 'https://api.paygate.example/v3/',
    PAYGATE_SHOP_ID: '100500',
    PAYGATE_SECRET_KEY: 'live_s3cret:with-colon',
    PAYGATE_ALLOWED_NETWORKS: '192.0.2.0/25, 2001:db8::/32',
  }

  test('is configured by four variables', () => {
    expect(readConfig(ALL)).toMatchObject({
      ...ALL,
      PAYGATE_API_URL: 'https://api.paygate.example/v3',
      PAYGATE_ALLOWED_NETWORKS: parseNetworks(ALL.PAYGATE_ALLOWED_NETWORKS),
    })
  })

  test.each(Object.keys(ALL))('cannot be configured by %s alone', (name) => {
    const one = { [name]: ALL[name as keyof typeof ALL] }
    const missing = Object.keys(ALL).filter((other) => other !== name)
    const needed = (other: string) => `${other}: is required with ${name}. Set all of`
    expect(faultsOf(one)).toEqual(missing.map((other) => expect.stringContaining(needed(other))))
  })

  test.each([
    ['PAYGATE_API_URL', 'api.paygate.example'],
    ['PAYGATE_API_URL', 'https://shop:key@api.paygate.example'],
    ['PAYGATE_API_URL', 'https://api.paygate.example/?a=b'],
    ['PAYGATE_SHOP_ID', '1:2'],
    ['PAYGATE_SHOP_ID', 'the shop'],
    ['PAYGATE_SECRET_KEY', 'k\u00e9y'],
    ['PAYGATE_SECRET_KEY', 'key\nkey'],
    ['PAYGATE_ALLOWED_NETWORKS', ','],
    ['PAYGATE_ALLOWED_NETWORKS', '192.0.2.1/25'],
  ])('%s rejects "%s"', (name, text) => {
    const faults = faultsOf({ ...ALL, [name]: text })
    expect(faults).toEqual([expect.stringMatching(`^${name}: .+\\.$`)])
    if (name === 'PAYGATE_SECRET_KEY') expect(faults.join()).not.toContain(text)
  })
})

describe('a variable with a name almost like a known one', () => {
  test.each([
    ['SMTP_URl', 'SMTP_URL'],
    ['smtp_url', 'SMTP_URL'],
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['BACKUP_SCHEDUL', 'BACKUP_SCHEDULE'],
    ['DATADIR', 'DATA_DIR'],
  ])('%s is reported with the suggestion %s', (name, meant) => {
    expect(misspeltVariables({ [name]: '1', PATH: '/bin', HOME: '/root', PORT: '1' })).toEqual([
      `${name} is not a variable of Wardkeep and is ignored. Did you mean ${meant}?`,
    ])
  })

  test('does not report unrelated variables', () => {
    const usual =
      'PATH HOME HOSTNAME USER SHELL PWD LANG TERM TMPDIR NODE_OPTIONS HTTP_PROXY NO_PROXY EDITOR'
    const env = Object.fromEntries(usual.split(' ').map((name) => [name, 'x']))
    expect(misspeltVariables(env)).toEqual([])
  })
})

test.each(['prod', 'Production', 'staging', ' production'])(
  'the configuration rejects the environment NODE_ENV=%s',
  (NODE_ENV) => {
    expect(faultsOf({ NODE_ENV })).toEqual(['NODE_ENV: must be production, development or test.'])
  },
)
