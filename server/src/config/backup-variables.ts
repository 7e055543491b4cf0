import { bech32 } from '@scure/base'
import { parseCron } from '../lib/cron.ts'
import { parseS3Url, type S3Credentials, type S3Location } from './s3-url.ts'
import { integer, listIn, variable } from './variable.ts'

export const BACKUP_VARIABLES = {
  BACKUP_DIR: variable({
    meaning: 'Folder for backups. Several nodes must share one folder.',
    default: '`backups` in DATA_DIR',
    read: (text) => text,
  }),
  BACKUP_S3_URL: variable({
    meaning:
      'Bucket for backups in place of BACKUP_DIR, as `https://s3.eu-central-1.amazonaws.com/bucket/folder` or the URL of another S3-compatible service. Add `?region=…` if the host does not contain the region, and `KEY:SECRET@` before the host if AWS_ACCESS_KEY_ID is not set.',
    default: 'none; backups are stored in BACKUP_DIR',
    read: (text, env) => (text === undefined ? undefined : bucketOf(text, env)),
  }),
  BACKUP_S3_LOCK_DAYS: variable({
    meaning:
      'Days during which backups in the bucket cannot be deleted. Requires a bucket with Object Lock.',
    default: "none; the bucket's own rules apply",
    read: (text, env) => {
      if (text === undefined) return undefined
      if (!env.BACKUP_S3_URL) throw new Error('requires BACKUP_S3_URL')
      return integer(1, 1, 3650)(text)
    },
  }),
  AWS_ACCESS_KEY_ID: variable({
    meaning: 'Access key for BACKUP_S3_URL, if the URL contains none',
    default: 'none',
    read: (text) => text,
  }),
  AWS_SECRET_ACCESS_KEY: variable({
    meaning: 'Secret of AWS_ACCESS_KEY_ID',
    default: 'none',
    read: (text) => text,
  }),
  BACKUP_SCHEDULE: variable({
    meaning: 'When full backups are created, as a cron expression in UTC such as `30 2 * * *`',
    default: 'none; in production the health report warns about it',
    read: (text) => (text === undefined ? undefined : parseCron(text)),
  }),
  BACKUP_DRILL_SCHEDULE: variable({
    meaning:
      'When the newest full backup is restored into a temporary server to prove that it works, as a cron expression in UTC. The restored copy takes space in DATA_DIR.',
    default: 'none',
    read: (text) => (text === undefined ? undefined : parseCron(text)),
  }),
  BACKUP_KEEP: variable({
    meaning:
      'Number of full backups, and of backups of each tenant, that are kept. Older ones are deleted once a newer one has been verified.',
    default: '7',
    read: integer(7, 1, 10_000),
  }),
  BACKUP_AGE_RECIPIENT: variable({
    meaning:
      'Additional age recipients (`age1…`) that can decrypt the backups, separated by commas',
    default: 'none',
    read: (text = '') => recipients(text),
  }),
}

interface S3Bucket {
  location: S3Location
  credentials: S3Credentials
}

/** @throws Error that contains no secret */
function bucketOf(text: string, env: NodeJS.ProcessEnv): S3Bucket {
  if (env.BACKUP_DIR) throw new Error('cannot be set together with BACKUP_DIR. Remove one of them')
  const { location, credentials } = parseS3Url(text)
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env
  if (credentials) return { location, credentials }
  if (accessKeyId && secretAccessKey)
    return { location, credentials: { accessKeyId, secretAccessKey } }
  throw new Error(
    'requires an access key. Put KEY:SECRET@ before the host, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  )
}

/** Reads native X25519 recipients of age. Verifies their checksums at startup instead of during the first backup. */
function recipients(text: string): string[] {
  const all = listIn(text)
  if (!all.every(isRecipient)) throw new Error('must be age recipients such as age1…')
  return all
}

/** Returns true for an age recipient `age1…`: an X25519 key in valid Bech32 (age-encryption.org/v1, BIP 173). */
function isRecipient(text: string): boolean {
  const decoded = bech32.decodeUnsafe(text)
  return decoded?.prefix === 'age' && bech32.fromWordsUnsafe(decoded.words)?.length === 32
}
