/** What the embedded server tells: the service's log as this folder needs it, and PostgreSQL's own log file. */
import { closeSync, openSync, readSync } from 'node:fs'
import { rename, stat } from 'node:fs/promises'

/** The part of a pino logger that the embedded server writes to. */
export interface EmbeddedLog {
  info(fields: object, msg: string): void
  warn(fields: object, msg: string): void
  error(fields: object, msg: string): void
}

const ROTATE_AT = 10 * 1024 * 1024
const TAIL = 64 * 1024

/** Sets aside a server log that has grown past 10 MB; one earlier log is kept. */
export async function rotateServerLog(path: string): Promise<void> {
  if ((await sizeOf(path)) > ROTATE_AT) await rename(path, `${path}.1`)
}

/** Size of the server log now, to read later only what one start has written. */
export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0
}

/** The last lines written to the server log since it had the given size. */
export async function readServerLog(path: string, since: number): Promise<string> {
  const end = await sizeOf(path)
  const start = Math.max(since, end - TAIL)
  if (start >= end) return ''
  const buffer = Buffer.alloc(end - start)
  const file = openSync(path, 'r')
  try {
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, start))
  } finally {
    closeSync(file)
  }
}
