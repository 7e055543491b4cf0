/** Defines the format of a backup file. See `docs/reference/backup-file.md`. */

export const FORMAT = 1

export const README = 'README.txt'
export const HEADER = 'header.json'
export const MANIFEST = 'manifest.json'
export const MANIFEST_MAC = 'manifest.mac'

/** The size at which a new part file begins, after the end of the current row. A single row may be longer. */
export const PART_BYTES = 8 * 1024 * 1024
/** The size of zstd's output chunks. Passing each chunk between threads has a cost, so they are large. */
export const ZSTD_CHUNK_BYTES = 256 * 1024
/** The maximum size of one file in a backup: the longest row that PostgreSQL can return, plus one part. */
export const MAX_FILE_BYTES = 1024 * 1024 * 1024 + PART_BYTES

export const BACKUP_TYPES = ['full', 'tenant'] as const
export type BackupType = (typeof BACKUP_TYPES)[number]

export interface BackedUpTable {
  name: string
  /** The columns in the order of the fields in each row. Generated columns are left out. */
  columns: readonly string[]
  /** The months (`2026_11`) or days (`2026_11_21`) for which a partitioned table has partitions. */
  partitions?: readonly string[]
}

/** The contents of `header.json`: the data that a reader needs before the first row. */
export interface Header {
  format: typeof FORMAT
  backup_id: string
  installation: string
  type: BackupType
  tenant_id: number | null
  /** The time of the snapshot, in ISO 8601. */
  created_at: string
  schema_version: number
  migrations: readonly { version: number; checksum: string }[]
  /** The ids of the keys that encrypt columns in the backup, and the root key with which the file can be decrypted. */
  keys: {
    key_encryption_keys: readonly number[]
    data_keys: readonly number[]
    /** The fingerprint of the root key. Files of earlier releases do not have it. */
    root_key?: string
  }
  tables: readonly BackedUpTable[]
  /** The last value of each sequence. Present only in a full backup. */
  sequences?: Readonly<Record<string, number>>
  /** When the backup was rewritten, and the ids of the purged tenants that were removed. */
  rewritten_at?: string
  forgotten?: readonly number[]
}

/** The contents of `manifest.json`, the second to last file: the rows that were written. */
export interface Manifest {
  backup_id: string
  /** SHA-256 of `header.json`, in hex. */
  header: string
  tables: Readonly<Record<string, { rows: number; bytes: number; sha256: string }>>
}

export const recordsOf = ({ tables }: Manifest): number =>
  Object.values(tables).reduce((sum, { rows }) => sum + rows, 0)

/** Returns the name of a part file with rows of a table. Parts are numbered from 1. */
export const partName = (table: string, part: number): string =>
  `data/${table}/${String(part).padStart(6, '0')}.copy`

/** Returns the table whose rows a part file contains. Returns undefined for other files. */
export const tableOf = (name: string): string | undefined =>
  /^data\/(\w+)\/\d{6,}[.]copy$/.exec(name)?.[1]

export const readme = ({ backup_id, type, created_at }: Header): string => `\
Backup ${backup_id} of Wardkeep (${type}), as of ${created_at}.

This archive was encrypted with age (https://age-encryption.org) and compressed with zstd. By hand:

  wardkeep backup identity > identity.txt          (needs the root key)
  age -d -i identity.txt FILE | zstd -d | tar -x

header.json names the tables, their columns in order, and the schema's version. data/TABLE/*.copy hold
the rows in COPY's text format, in the order of their numbers:

  cat data/TABLE/*.copy | psql -c '\\copy TABLE (COLUMNS) from stdin' DATABASE

manifest.json has the number of rows and the SHA-256 of each table's files together. Sealed columns
(sealed_*) open with the keys in data_keys and key_encryption_keys, and those with the root key.
`
