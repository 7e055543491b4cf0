/** Reads BACKUP_S3_URL: who asks which service for which bucket, and what the names there begin with. */

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
}

export interface S3Location {
  /** Where all requests go. */
  origin: string
  /** The path of the bucket below it: empty where its name is in the host. */
  bucketPath: string
  /** What the objects' names begin with: empty, or one that ends with a slash. */
  prefix: string
  /** Where the URL names it; else it is known by the host, or the default one. */
  region: string | undefined
  /** For people: without the credentials. */
  place: string
}

const EXAMPLE = 'https://s3.eu-central-1.amazonaws.com/bucket/folder'
const PART = /^[\w.-]+$/
/** The hosts of Amazon's S3: with the name of a bucket in front, or without. */
const AMAZON = /^(?:(.+)\.)?(s3(?:[.-][a-z0-9.-]+)?\.amazonaws\.com(?:\.cn)?)$/

/** @throws Error that says what it must be, and never what it is: it may hold a secret */
export function parseS3Url(text: string): {
  location: S3Location
  credentials: S3Credentials | undefined
} {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error(
      `must be a URL such as ${EXAMPLE}; in a secret, / is written as %2F and + as %2B`,
    )
  if (url.hash !== '' || [...url.searchParams.keys()].some((name) => name !== 'region'))
    throw new Error('must have no parameter but region, as in ?region=eu-central-1')
  const parts = url.pathname.split('/').filter((part) => part !== '')
  if (!parts.every((part) => PART.test(part)))
    throw new Error(
      'must name its bucket and folder in letters, digits, dots, hyphens and underscores',
    )
  return {
    location: { ...placed(url, parts), region: url.searchParams.get('region') || undefined },
    credentials: credentialsOf(url),
  }
}

/** By the host where Amazon wants that, else by the path, which every other service takes. */
function placed(url: URL, parts: string[]): Omit<S3Location, 'region'> {
  const { protocol, host, origin } = url
  const [, inHost, amazon] = AMAZON.exec(host) ?? []
  const bucket = inHost ?? parts.shift()
  if (bucket === undefined) throw new Error(`must name a bucket, as ${EXAMPLE} does`)
  const prefix = parts.map((part) => `${part}/`).join('')
  const place = `${origin}/${inHost ? '' : `${bucket}/`}${prefix}`.replace(/\/$/, '')
  if (inHost) return { origin, bucketPath: '', prefix, place }
  // A name with a dot is in no certificate.
  if (amazon && !bucket.includes('.'))
    return { origin: `${protocol}//${bucket}.${amazon}`, bucketPath: '', prefix, place }
  return { origin, bucketPath: `/${bucket}`, prefix, place }
}

function credentialsOf({ username, password }: URL): S3Credentials | undefined {
  if (username === '' && password === '') return undefined
  if (username === '' || password === '')
    throw new Error(
      'must hold both the access key and the secret, as https://KEY:SECRET@host/bucket',
    )
  try {
    return {
      accessKeyId: decodeURIComponent(username),
      secretAccessKey: decodeURIComponent(password),
    }
  } catch {
    throw new Error('must hold the secret percent-encoded: % is written as %25')
  }
}
