/** The logs of the embedded server: the service's log and PostgreSQL's log file. */
import { closeSync, openSync, readSync } from 'node:fs'
import { rename, stat } from 'node:fs/promises'

export interface EmbeddedLog {
  info(fields: object, msg: string): void
  warn(fields: object, msg: string): void
  error(fields: object, msg: string): void
}

const ROTATE_AT = 10 * 1024 * 1024
const TAIL = 64 * 1024

/** Renames a server log larger than 10 MB to `.1`, which replaces the previous `.1`. */
export async function rotateServerLog(path: string): Promise<void> {
  if ((await sizeOf(path)) > ROTATE_AT) await rename(path, `${path}.1`)
}

/** Returns the size of the server log, or 0 without one. Pass it to `readServerLog` to read only later lines. */
export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0
}

/** Returns the end of the server log, at most 64 KiB, without the first `since` bytes of the file. */
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
