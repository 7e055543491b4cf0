/** Stores backups in an S3 bucket, or in a compatible service. */
import { DAY, isoAt, SECOND } from '../../../../lib/clock.ts'
import { NotStoredError, type OpenStore, type StoredObject, StoreError } from '../store.ts'
import { BucketError, type BucketOptions, openBucket } from './bucket.ts'
import { readPieces } from './read.ts'
import { abortUpload, pendingUploads, upload } from './upload.ts'
import { elementsOf, textOf } from './xml.ts'

const MIB = 1024 ** 2
const CHECK_DEADLINE_MS = 5 * SECOND
/** The maximum number of versions of an object. Normally one; a second one if the response to an upload was lost. */
const MAX_VERSIONS = 10

export interface S3StoreOptions extends BucketOptions {
  /** For how many days objects cannot be deleted. If undefined, the settings of the bucket apply. */
  lockDays?: number | undefined
  /** The number of bytes in each uploaded part and in each piece that is read. */
  partBytes?: number
}

interface Head {
  size: number
  version: string | undefined
  lockedUntil: string | null
}

export function s3Store(options: S3StoreOptions): OpenStore {
  const { location, clock, lockDays, partBytes = 8 * MIB } = options
  const { prefix, place } = location
  const bucket = openBucket(options)
  const keyOf = (name: string) => prefix + name

  /** Returns the headers of a GOVERNANCE lock. The service's key should lack the permission to remove it. */
  const lock = () =>
    lockDays === undefined
      ? {}
      : {
          'x-amz-object-lock-mode': 'GOVERNANCE',
          'x-amz-object-lock-retain-until-date': isoAt(clock, lockDays * DAY),
        }

  /** Returns the metadata of an object; undefined if the object does not exist. */
  async function head(name: string): Promise<Head | undefined> {
    try {
      const { fields } = await bucket.ask({ method: 'HEAD', key: keyOf(name) })
      const text = (field: string) => {
        const value = fields[field]
        return typeof value === 'string' ? value : undefined
      }
      const until = text('x-amz-object-lock-retain-until-date')
      return {
        size: Number(text('content-length')),
        version: text('x-amz-version-id'),
        lockedUntil: until === undefined ? null : new Date(until).toISOString(),
      }
    } catch (error) {
      if (error instanceof BucketError && error.status === 404) return undefined
      throw error
    }
  }

  async function found(name: string): Promise<Head> {
    const there = await head(name)
    if (!there) throw new NotStoredError(`the backup file ${keyOf(name)} is missing`)
    return there
  }

  /**
   * Deletes one version of an object. In a versioned bucket, a deletion without a version only hides the object.
   * Returns false if the version is locked.
   */
  async function deleteVersion(name: string, { version, lockedUntil }: Head): Promise<boolean> {
    const isLocked = lockedUntil !== null && Date.parse(lockedUntil) > clock.now()
    if (isLocked) return false
    try {
      const query = version === undefined ? {} : { versionId: version }
      await bucket.ask({ method: 'DELETE', key: keyOf(name), query })
      return true
    } catch (error) {
      if (error instanceof BucketError && isRefusedByLock(error)) return false
      throw error
    }
  }

  return {
    place,
    // A bucket has no size limit.
    requireRoom: async () => undefined,
    write: (name, source, signal) =>
      upload({ bucket, key: keyOf(name), headers: lock(), partBytes }, source, signal),
    async *read(name, { start, end } = { start: 0, end: Number.POSITIVE_INFINITY }) {
      yield* readPieces({ bucket, key: keyOf(name), pieceBytes: partBytes }, { start, end })
    },
    size: async (name) => (await found(name)).size,
    async delete(name) {
      for (let version = 0; version < MAX_VERSIONS; version += 1) {
        const there = await head(name)
        if (!there) return true
        if (!(await deleteVersion(name, there))) return false
      }
      throw new StoreError(
        `the backup store confirmed the deletion of ${keyOf(name)} but still has it`,
      )
    },
    lockedUntil: async (name) => (await found(name)).lockedUntil,
    async list() {
      const objects: StoredObject[] = []
      let token: string | undefined
      do {
        const more = token === undefined ? {} : { 'continuation-token': token }
        const query: Record<string, string> = { 'list-type': '2', prefix, delimiter: '/', ...more }
        const xml = (await bucket.ask({ method: 'GET', query })).body.toString()
        for (const object of elementsOf(xml, 'Contents')) {
          const name = textOf(object, 'Key')?.slice(prefix.length)
          const writtenAt = Date.parse(textOf(object, 'LastModified') ?? '')
          if (name) objects.push({ name, writtenAt })
        }
        const isCut = textOf(xml, 'IsTruncated') === 'true'
        token = isCut ? textOf(xml, 'NextContinuationToken') : undefined
      } while (token !== undefined)
      return objects
    },
    async discard(name) {
      for await (const { key, id } of pendingUploads(bucket, keyOf(name)))
        if (key === keyOf(name)) await abortUpload(bucket, key, id)
    },
    async sweep(before) {
      for await (const { key, id, begunAt } of pendingUploads(bucket, prefix))
        if (begunAt < before) await abortUpload(bucket, key, id)
    },
    async check() {
      const query = { 'list-type': '2', prefix, 'max-keys': '1' }
      await bucket.ask({ method: 'GET', query, tries: 1, deadlineMs: CHECK_DEADLINE_MS })
    },
    close: bucket.close,
  }
}

/** Returns true if a lock caused the rejection. Checks the message too, because services differ. */
const isRefusedByLock = ({ status, message }: BucketError): boolean =>
  (status === 400 || status === 403) && /object.?lock|worm|retention/i.test(message)
