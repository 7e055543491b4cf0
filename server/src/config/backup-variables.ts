/** The variables of backups. */
import { isRecipient } from '../lib/age-recipient.ts'
import { parseCron } from '../lib/cron.ts'
import { parseS3Url, type S3Credentials, type S3Location } from '../lib/s3-url.ts'
import { integer, list, variable } from './variable.ts'

export const BACKUP_VARIABLES = {
  BACKUP_DIR: variable({
    meaning: 'folder of the backups; with several nodes one that they share',
    default: '`backups` in DATA_DIR',
    read: (text) => text,
  }),
  BACKUP_S3_URL: variable({
    meaning:
      'bucket of the backups, in place of BACKUP_DIR: `https://s3.eu-central-1.amazonaws.com/bucket/folder`, or the same of a service that speaks S3; with `?region=…` where that is not in the host, and with `KEY:SECRET@` in front of it where AWS_ACCESS_KEY_ID is not set',
    default: 'none: they lie in BACKUP_DIR',
    read: (text, env) => (text === undefined ? undefined : bucketOf(text, env)),
  }),
  BACKUP_S3_LOCK_DAYS: variable({
    meaning:
      'days for which nobody can delete a backup from the bucket, which needs Object Lock for that',
    default: 'none: what the bucket does by itself',
    read: (text, env) => {
      if (text === undefined) return undefined
      if (!env.BACKUP_S3_URL) throw new Error('is of use with BACKUP_S3_URL alone')
      return integer(1, 1, 3650)(text)
    },
  }),
  AWS_ACCESS_KEY_ID: variable({
    meaning: 'access key for BACKUP_S3_URL, where that holds none',
    default: 'none',
    read: (text) => text,
  }),
  AWS_SECRET_ACCESS_KEY: variable({
    meaning: 'secret of AWS_ACCESS_KEY_ID',
    default: 'none',
    read: (text) => text,
  }),
  BACKUP_SCHEDULE: variable({
    meaning:
      'when a backup of everything is made by itself: a cron expression in UTC, such as `30 2 * * *`',
    default: 'none: in production the health report says so',
    read: (text) => (text === undefined ? undefined : parseCron(text)),
  }),
  BACKUP_DRILL_SCHEDULE: variable({
    meaning:
      'when the newest backup of everything is restored into a server that is thrown away, to prove that it can be: a cron expression in UTC; it takes room in DATA_DIR',
    default: 'none',
    read: (text) => (text === undefined ? undefined : parseCron(text)),
  }),
  BACKUP_KEEP: variable({
    meaning:
      'backups that are kept of everything, and of each tenant for itself; older ones are deleted once a newer one is proven',
    default: '7',
    read: integer(7, 1, 10_000),
  }),
  BACKUP_AGE_RECIPIENT: variable({
    meaning:
      "age recipients `age1…`, separated by commas, that can open the backups beside the service's own identity",
    default: 'none',
    read: (text = '') => recipients(text),
  }),
}

/** Where the backups lie, and who writes them there. */
interface S3Bucket {
  location: S3Location
  credentials: S3Credentials
}

/** @throws Error, which tells of no secret */
function bucketOf(text: string, env: NodeJS.ProcessEnv): S3Bucket {
  if (env.BACKUP_DIR) throw new Error('is set together with BACKUP_DIR; keep one')
  const { location, credentials } = parseS3Url(text)
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env
  if (credentials) return { location, credentials }
  if (accessKeyId && secretAccessKey)
    return { location, credentials: { accessKeyId, secretAccessKey } }
  throw new Error(
    'needs an access key: KEY:SECRET@ in front of the host, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  )
}

/** Native X25519 recipients of age: bech32, whose checksum the first backup would find wrong too late. */
function recipients(text: string): string[] {
  const all = list(text)
  if (!all.every(isRecipient)) throw new Error('must be age recipients such as age1…')
  return all
}
