/** What PostgreSQL's own programs make of a database: a file, and a database again. */
import type { ClientConfig } from 'pg'
import { program, timed } from '../cluster.ts'

const toThe = ({ host, port, user, database }: ClientConfig) =>
  ['-h', host, '-p', String(port), '-U', user, '-d', database] as string[]

/** Seconds of `pg_dump | zstd -1` into a file. */
export function dumpThroughZstd(database: ClientConfig, file: string): Promise<number> {
  const dump = [program('pg_dump'), ...toThe(database)].join(' ')
  return timed('bash', ['-o', 'pipefail', '-c', `${dump} | zstd -1 -q -f -o ${file}`])
}

/** Seconds of `pg_dump -Fc` into a file, of which `pg_restore` makes a database again. */
export function dumpAsArchive(database: ClientConfig, file: string): Promise<number> {
  return timed(program('pg_dump'), [...toThe(database), '-Fc', '-f', file])
}

/** Seconds of `pg_restore --single-transaction` into a database that is empty, until its last index stands. */
export function restoreArchive(database: ClientConfig, file: string): Promise<number> {
  return timed(program('pg_restore'), [...toThe(database), '--single-transaction', file])
}
