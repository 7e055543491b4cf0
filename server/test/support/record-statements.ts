/**
 * Records which statements the service runs in each test file, when `RECORD_STATEMENTS` names a folder.
 * `scripts/second-run.mjs` uses this to choose the files that run on another PostgreSQL too.
 */
import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { withDatabase } from './server-address.ts'

/** Returns a statement without its numbers and the lengths of its lists, because both differ between runs. */
export const fingerprintOf = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '0')
    .replace(/\d+/g, '0')
    .replace(/\(\$0(, ?\$0)+\)/g, '($0)')
    .replace(/\(\$0\)(, ?\(\$0\))+/g, '($0)')
    .trim()

interface Connection {
  host: string
  port: number
  connectionParameters: { application_name?: string }
}

/**
 * Records each statement with its result: rows, no rows, or an SQLSTATE.
 * @returns a function that ends the recording
 */
export async function record(note: (line: string) => void): Promise<() => void> {
  // Imported only when needed, because most files with tests of pure functions never load the driver.
  const { default: pg } = await import('pg')
  const reference = new pg.Client(withDatabase(inject('server'), null))
  const isOfService = ({ host, port, connectionParameters }: Connection) =>
    host === reference.host &&
    port === reference.port &&
    connectionParameters.application_name === 'wardkeep'
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: Connection, ...args: any[]): any {
    // The driver's overloads have no single signature that covers all of them.
    const result: any = (query as any).apply(this, args)
    const text = typeof args[0] === 'string' ? args[0] : args[0]?.text
    if (typeof text !== 'string' || !isOfService(this)) return result
    const ended = (outcome: string) => note(`${outcome} ${fingerprintOf(text)}`)
    if (typeof result?.then !== 'function') ended('sent')
    else
      result.then(
        ({ rowCount }: { rowCount?: number | null }) => ended(rowCount ? 'rows' : 'none'),
        ({ code }: { code?: string }) =>
          ended(/^[0-9A-Z]{5}$/.test(code ?? '') ? `${code}` : 'lost'),
      )
    return result
  } as typeof query
  return () => {
    pg.Client.prototype.query = query
  }
}

/** The records of the running file. The driver is patched only once per process. */
let noted: Set<string> | undefined

/** Records the statements of the file that starts now, if `RECORD_STATEMENTS` names a folder. */
export function recordStatements(): void {
  const folder = process.env.RECORD_STATEMENTS
  if (folder === undefined) return
  beforeAll(async () => {
    if (noted === undefined) {
      noted = new Set()
      await record((line) => void noted?.add(line))
    }
    noted = new Set()
  })
  afterAll(() => {
    const { testPath = '' } = expect.getState()
    const name = `${basename(testPath)}-${process.pid}-${performance.now()}.json`
    const kept = { file: testPath, statements: [...(noted ?? [])].sort() }
    writeFileSync(join(folder, name), JSON.stringify(kept))
  })
}
