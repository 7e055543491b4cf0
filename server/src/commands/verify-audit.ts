/** The `wardkeep audit verify` command. With an export it needs no database, no configuration and no network. */
import {
  FINDING_KINDS,
  type VerificationReport,
  verifyExport,
} from '../features/audit/offline/index.ts'
import { ALTERED, NOT_CHECKED, orNotChecked } from './audit-exit.ts'

interface VerifyChoices {
  head: readonly string[]
  key: readonly string[]
  json?: boolean
}

/** Verifies an export, or without a path the logs in the database. Ends with 1 if a log was altered. */
export function verifyAudit(path: string | undefined, choices: VerifyChoices): Promise<void> {
  const kept = { heads: choices.head, keys: choices.key }
  return orNotChecked(async () => {
    const report = path === undefined ? await verifyStored(kept) : await verifyExport(path, kept)
    process.stdout.write(choices.json ? `${JSON.stringify(report)}\n` : inWords(report))
    for (const sentence of report.unchecked) process.stderr.write(`${sentence}\n`)
    if (report.findings.length > 0) process.exitCode = ALTERED
    else if (report.unchecked.length > 0) process.exitCode = NOT_CHECKED
  })
}

/** Loads the service's code only here, so that the verification of a file needs little memory. */
async function verifyStored(kept: Parameters<typeof verifyExport>[1]): Promise<VerificationReport> {
  const { withDatabase } = await import('./database.ts')
  const { verifyAuditLogs } = await import('../open-features.ts')
  return withDatabase(({ db }) => verifyAuditLogs(db, kept), true)
}

function inWords({ logs, findings, omitted, notes, unchecked }: VerificationReport): string {
  const lines = [
    ...findings.map(
      ({ tenant_id, entry_id, index, kind, detail }) =>
        `tenant ${tenant_id}: entry ${entry_id ?? '-'}, index ${index ?? '-'}: ${FINDING_KINDS[kind]} (${detail})`,
    ),
    ...(omitted > 0 ? [`${omitted} more findings`] : []),
    ...notes.map((note) => `note: ${note}`),
    ...logs.map(
      ({ origin, size, first, end, heads }) =>
        `${origin}: read the entries ${first} to ${end - 1} of ${size}, compared with ${heads} signed heads`,
    ),
    ...(findings.length + unchecked.length === 0 ? ['No entry was altered.'] : []),
  ]
  return lines.map((line) => `${line}\n`).join('')
}
