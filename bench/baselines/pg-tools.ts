/** Backups and restores with PostgreSQL's own programs. */
import type { ClientConfig } from 'pg'
import { program, timed } from '../cluster.ts'

const toThe = ({ host, port, user, database }: ClientConfig) =>
  ['-h', host, '-p', String(port), '-U', user, '-d', database] as string[]

/** Returns how many seconds `pg_dump | zstd -1` into a file takes. */
export function dumpThroughZstd(database: ClientConfig, file: string): Promise<number> {
  const dump = [program('pg_dump'), ...toThe(database)].join(' ')
  return timed('bash', ['-o', 'pipefail', '-c', `${dump} | zstd -1 -q -f -o ${file}`])
}

/** Returns how many seconds `pg_dump -Fc` into a file for `pg_restore` takes. */
export function dumpAsArchive(database: ClientConfig, file: string): Promise<number> {
  return timed(program('pg_dump'), [...toThe(database), '-Fc', '-f', file])
}

/** Returns how many seconds `pg_restore --single-transaction` into an empty database takes, including its indexes. */
export function restoreArchive(database: ClientConfig, file: string): Promise<number> {
  return timed(program('pg_restore'), [...toThe(database), '--single-transaction', file])
}
