/** Reads BACKUP_S3_URL: the credentials, the service, the bucket, and the prefix of object names. */

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
}

export interface S3Location {
  origin: string
  /** The path of the bucket at the origin. Empty if the host contains the bucket's name. */
  bucketPath: string
  /** The prefix of object names: empty, or ending with a slash. */
  prefix: string
  /** The region in the URL. If undefined, the region is derived from the host, or is the default. */
  region: string | undefined
  /** The location without credentials, as shown to people. */
  place: string
}

const EXAMPLE = 'https://s3.eu-central-1.amazonaws.com/bucket/folder'
const PART = /^[\w.-]+$/
/** The hosts of Amazon S3, with or without the bucket name in front. */
const AMAZON = /^(?:(.+)\.)?(s3(?:[.-][a-z0-9.-]+)?\.amazonaws\.com(?:\.cn)?)$/

/** @throws Error that explains the expected format, without the value, which may contain a secret */
export function parseS3Url(text: string): {
  location: S3Location
  credentials: S3Credentials | undefined
} {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error(`must be a URL such as ${EXAMPLE}. In the secret, write / as %2F and + as %2B`)
  if (url.hash !== '' || [...url.searchParams.keys()].some((name) => name !== 'region'))
    throw new Error('must have no query parameter except region, such as ?region=eu-central-1')
  const parts = url.pathname.split('/').filter((part) => part !== '')
  if (!parts.every((part) => PART.test(part)))
    throw new Error(
      'must have a bucket and folder of letters, digits, dots, hyphens and underscores only',
    )
  return {
    location: { ...placed(url, parts), region: url.searchParams.get('region') || undefined },
    credentials: credentialsOf(url),
  }
}

/** Puts the bucket into the host, which Amazon requires, or into the path, which all other services accept. */
function placed(url: URL, parts: string[]): Omit<S3Location, 'region'> {
  const { protocol, host, origin } = url
  const [, inHost, amazon] = AMAZON.exec(host) ?? []
  const bucket = inHost ?? parts.shift()
  if (bucket === undefined) throw new Error(`must include a bucket, such as ${EXAMPLE}`)
  const prefix = parts.map((part) => `${part}/`).join('')
  const place = `${origin}/${inHost ? '' : `${bucket}/`}${prefix}`.replace(/\/$/, '')
  if (inHost) return { origin, bucketPath: '', prefix, place }
  // A bucket name with a dot stays in the path, because no certificate would match the resulting host.
  if (amazon && !bucket.includes('.'))
    return { origin: `${protocol}//${bucket}.${amazon}`, bucketPath: '', prefix, place }
  return { origin, bucketPath: `/${bucket}`, prefix, place }
}

function credentialsOf({ username, password }: URL): S3Credentials | undefined {
  if (username === '' && password === '') return undefined
  if (username === '' || password === '')
    throw new Error(
      'must include both the access key and the secret, such as https://KEY:SECRET@host/bucket',
    )
  try {
    return {
      accessKeyId: decodeURIComponent(username),
      secretAccessKey: decodeURIComponent(password),
    }
  } catch {
    throw new Error('must have its secret percent-encoded: write % as %25')
  }
}
