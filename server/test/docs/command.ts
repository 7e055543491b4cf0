/** Runs the `wardkeep` command as an operator does: as a separate process, on a test's database. */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { TestDatabase } from '../support/database.ts'
import { INHERITED } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { ROOT_KEY } from '../support/service.ts'
import { ROOT } from './documents.ts'

export interface Ended {
  code: number
  stdout: string
  stderr: string
}

/**
 * Runs the command to completion on a database, with the test root key unless another is given. Its data folder does
 * not exist, so the command must not need the files of the service.
 */
export async function wardkeep(
  database: Pick<TestDatabase, 'url'>,
  args: readonly string[],
  rootKey: Buffer = ROOT_KEY,
): Promise<Ended> {
  return runCommand(args, {
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: rootKey.toString('base64'),
    DATA_DIR: path.join(await scratch(), 'data'),
  })
}

/** Runs a shell block of a runbook in `cwd`, where `wardkeep` is the command of this release. */
export async function bash(
  block: string,
  variables: Record<string, string>,
  cwd: string,
): Promise<Ended> {
  const programs = path.join(cwd, 'programs')
  const command = path.join(ROOT, 'server/src/main.ts')
  await mkdir(programs, { recursive: true })
  await writeFile(
    path.join(programs, 'wardkeep'),
    `#!/bin/sh\nexec "${process.execPath}" "${command}" "$@"\n`,
    { mode: 0o755 },
  )
  const env = { ...INHERITED, ...variables, PATH: `${programs}:${INHERITED.PATH}` }
  const script = `set -euo pipefail\n${block}`
  return new Promise((resolve) => {
    // If stdin is a socket, Bash assumes a remote login and reads its startup files.
    execFile('bash', ['--norc', '-c', script], { env, cwd }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
    )
  })
}

/** Runs the command to completion with only these variables. */
export function runCommand(
  args: readonly string[],
  variables: Record<string, string>,
): Promise<Ended> {
  const env = { ...INHERITED, ...variables }
  const command = [path.join(ROOT, 'server/src/main.ts'), ...args]
  return new Promise((resolve) => {
    execFile(process.execPath, command, { env, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
    )
  })
}
