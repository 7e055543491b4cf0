/** The `wardkeep audit` commands that need the database. They can run while the service runs. */
import { Uncheckable } from '../features/audit/offline/index.ts'
import { auditCommands } from '../open-features.ts'
import { openRootKeys } from '../platform/crypto/index.ts'
import { orNotChecked } from './audit-exit.ts'
import { withDatabase } from './database.ts'

type AuditCommands = ReturnType<typeof auditCommands>

const onAudit = (work: (audit: AuditCommands) => Promise<string>): Promise<void> =>
  orNotChecked(() =>
    withDatabase(async ({ db, source, config, log }) => {
      // Also sets the key with which the entries of commands are marked.
      const { sealer } = await openRootKeys(db, source)
      const publicUrl = config.PUBLIC_URL ?? 'http://localhost'
      const line = await work(
        auditCommands({ db, log, sealer, publicUrl, dataDir: config.DATA_DIR }),
      )
      process.stdout.write(`${line}\n`)
    }, true),
  )

/** Prints the key that verifies the heads, and below it the former ones that sign along. Creates it if there is none. */
export const printAuditKey = (): Promise<void> =>
  onAudit(async (audit) => linesOf(await audit.keys()))

/** Replaces the key that signs the heads, and prints the keys as `printAuditKey` does. */
export const rotateAuditKey = (): Promise<void> =>
  onAudit(async (audit) => linesOf(await audit.rotateKey()))

const linesOf = ({ current, former }: Awaited<ReturnType<AuditCommands['keys']>>): string =>
  [
    current,
    ...former.map(({ key, until }) => `${key} (former key, signs until ${until.slice(0, 10)})`),
  ].join('\n')

export interface ExportChoices {
  out: string
  tenant?: string
  from?: string
  to?: string
}

/** Exports logs with signed heads. */
export const exportAudit = ({ out, tenant, from, to }: ExportChoices): Promise<void> =>
  onAudit(async (audit) => {
    const tenantId = tenant === undefined ? undefined : idOf(tenant, '--tenant')
    const { logs, entries } = await audit.export({ out, tenantId, from, to })
    return `Exported ${entries} entries of ${logs} audit logs to ${out}.`
  })

export interface EraseChoices {
  tenant: string
  user?: string
  entry?: string
  reason: string
}

/** Erases the personal fields of the entries of a user, or of one entry. */
export const eraseAudit = ({ tenant, user, entry, reason }: EraseChoices): Promise<void> =>
  onAudit(async (audit) => {
    const of = [
      ...(user === undefined ? [] : [{ userId: idOf(user, '--user') }]),
      ...(entry === undefined ? [] : [{ entryId: idOf(entry, '--entry') }]),
    ]
    const [only] = of
    if (!only || of.length > 1) throw new Uncheckable('Pass either --user or --entry.')
    if (reason.trim() === '')
      throw new Uncheckable('--reason is empty. Pass the reason of the order.')
    const tenantId = idOf(tenant, '--tenant')
    const { erased, unsealed } = await audit.erase({ tenantId, of: only, reason: reason.trim() })
    if (unsealed > 0)
      throw new Uncheckable(
        `${unsealed} entries are not sealed yet, so nothing was erased. Run the command again after some seconds, while the service runs.`,
      )
    return `Erased ${erased} entries.`
  })

/** @throws Uncheckable for text that is not an id */
function idOf(text: string, option: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw new Uncheckable(`${option}: not an id: ${text}. Pass a number.`)
  return Number(text)
}
