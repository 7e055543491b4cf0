/** What is in a backup: its parts by name, and what it says of itself. `docs/backups.md` shows it. */

export const FORMAT = 1

export const README = 'README.txt'
export const HEADER = 'header.json'
export const MANIFEST = 'manifest.json'
export const MANIFEST_MAC = 'manifest.mac'

/** Rows of one file, cut at the end of a row; one row may be longer. */
export const PART_BYTES = 8 * 1024 * 1024
/** What zstd makes comes in pieces of this size: each costs the way from its thread. */
export const ZSTD_CHUNK_BYTES = 256 * 1024
/** The longest row that PostgreSQL can hand out, and the part that it comes behind. */
export const MAX_FILE_BYTES = 1024 * 1024 * 1024 + PART_BYTES

export const BACKUP_TYPES = ['full', 'tenant'] as const
export type BackupType = (typeof BACKUP_TYPES)[number]

export interface BackedUpTable {
  name: string
  /** In the order of the rows' fields; generated columns are left out. */
  columns: readonly string[]
  /** Of a partitioned table: the months (`2026_11`) or days (`2026_11_21`) that it has. */
  partitions?: readonly string[]
}

/** `header.json`: what a reader has to know before the first row. */
export interface Header {
  format: typeof FORMAT
  backup_id: string
  /** Of the database that it was taken of. */
  installation: string
  type: BackupType
  tenant_id: number | null
  /** Of the snapshot, ISO 8601. */
  created_at: string
  schema_version: number
  migrations: readonly { version: number; checksum: string }[]
  /** The keys under which sealed fields in it are, by their ids, and the root key that opens it. */
  keys: {
    key_encryption_keys: readonly number[]
    data_keys: readonly number[]
    /** Its fingerprint; files of earlier releases do not name it. */
    root_key?: string
  }
  tables: readonly BackedUpTable[]
  /** The highest number that each sequence had given out; in a backup of everything. */
  sequences?: Readonly<Record<string, number>>
  /** Of one that was written anew: when, and without which tenants, which were purged. */
  rewritten_at?: string
  forgotten?: readonly number[]
}

/** `manifest.json`, the last but one file: what was written. */
export interface Manifest {
  backup_id: string
  /** SHA-256 of `header.json`, in hex. */
  header: string
  tables: Readonly<Record<string, { rows: number; bytes: number; sha256: string }>>
}

/** The rows of all tables. */
export const recordsOf = ({ tables }: Manifest): number =>
  Object.values(tables).reduce((sum, { rows }) => sum + rows, 0)

/** The file with rows of a table, counted from 1. */
export const partName = (table: string, part: number): string =>
  `data/${table}/${String(part).padStart(6, '0')}.copy`

/** The table whose rows a file holds; undefined for other files. */
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
