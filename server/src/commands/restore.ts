/** The `wardkeep backup restore` command: restores a backup in place, or a file into an empty database. */
import { resolve } from 'node:path'
import type { App } from '../app.ts'
import { readConfig } from '../config/config.ts'
import { givenKeys } from '../config/key-source.ts'
import { StartupError } from '../lib/startup-error.ts'
import { restoreBackupFile, storeBy } from '../open-features.ts'
import { openLog } from '../platform/observe/log.ts'
import { isId, onBackups, progress } from './backup.ts'
import { openDatabase } from './start.ts'

export interface RestoreChoices {
  tenant?: string
  access?: string
  dryRun?: boolean
  yes?: boolean
  json?: boolean
}

export function restoreCommand(what: string, choices: RestoreChoices): Promise<void> {
  return isId(what) ? restoreInPlace(what, choices) : restoreIntoEmpty(what, choices)
}

/** Restores with or without a running service. Nobody can sign in during the restore. */
async function restoreInPlace(id: string, choices: RestoreChoices): Promise<void> {
  const { dryRun: dry_run = false, yes, json } = choices
  const wanted = { ...whatOf(choices), dry_run }
  if (!dry_run && !yes)
    throw new StartupError(
      'This overwrites everything changed since the backup and signs everyone out. Pass --yes to continue or --dry-run to preview.',
    )
  await onBackups(async (backups) => {
    const job = await backups.restore(id, wanted, progress(dry_run ? 'comparing' : 'restoring'))
    return json ? JSON.stringify(job) : inWords(job)
  })
}

function whatOf({ tenant, access = 'merged' }: RestoreChoices) {
  if (access !== 'merged' && access !== 'backup')
    throw new StartupError('Invalid value of --access. Pass merged or backup.')
  if (tenant === undefined) return { access } as const
  const tenant_id = Number(tenant)
  if (!Number.isSafeInteger(tenant_id))
    throw new StartupError('Invalid tenant id. Pass the id of the tenant as a number.')
  return { access, tenant_id } as const
}

type Job = Awaited<ReturnType<App['features']['backups']['commands']['restore']>>

function inWords({ backup_id, result }: Job): string {
  if (!result) return `Backup ${backup_id} was restored.`
  const { dry_run, tables, access, safety_backup_id, deleted } = result
  const differing = Object.entries(tables).filter(
    ([, { added, changed, removed }]) => added + changed + removed > 0,
  )
  const rows = differing.map(
    ([name, { added, changed, removed }]) =>
      `  ${name}: ${added} added, ${changed} changed, ${removed} removed`,
  )
  const isSame = rows.length === 0 && deleted.length === 0
  return [
    dry_run
      ? `A restore of backup ${backup_id} would change:`
      : `Backup ${backup_id} was restored. Changes:`,
    ...(isSame ? ['  nothing, because nothing differs from the backup'] : rows),
    ...clinicsGone(deleted, dry_run),
    `Accounts and other access that ${dry_run ? 'would not be' : 'were not'} restored as in the backup: ${access.total}.`,
    ...leftOut(result),
    ...(safety_backup_id ? [`The state before the restore is in backup ${safety_backup_id}.`] : []),
  ].join('\n')
}

const clinicsGone = (deleted: readonly number[], isRehearsed: boolean): string[] =>
  deleted.length > 0
    ? [
        `${isRehearsed ? 'Would be deleted' : 'Deleted'} because they do not exist in the backup: tenants ${deleted.join(', ')}.`,
      ]
    : []

interface LeftOut {
  purged: readonly number[]
  purged_records: Readonly<Record<string, number>>
}

function leftOut({ purged, purged_records }: LeftOut): string[] {
  const records = Object.entries(purged_records).map(([table, count]) => `${count} ${table}`)
  const tenants = purged.length > 0 ? [`tenants ${purged.join(', ')}`] : []
  return [...tenants, ...records].map((what) => `Not restored because they were purged: ${what}.`)
}

async function restoreIntoEmpty(file: string, choices: RestoreChoices): Promise<void> {
  if (choices.tenant !== undefined || choices.access !== undefined || choices.dryRun)
    throw new StartupError(
      '--tenant, --access and --dry-run require the id of a registered backup. A backup file can only be restored as a whole into an empty database.',
    )
  const config = readConfig()
  const log = openLog('warn', 2)
  const rootKeys = await givenKeys(config, log)
  const store = storeBy(config)
  const { address, stop } = await openDatabase(config, log)
  try {
    const restored = await restoreBackupFile(resolve(file), {
      address,
      rootKeys,
      store,
      log,
      onProgress: progress('restoring'),
    })
    const { header, records, purged, purged_records } = restored
    const { backup_id, created_at } = header
    process.stdout.write(
      choices.json
        ? `${JSON.stringify({ backup_id, created_at, records, purged, purged_records })}\n`
        : `Backup ${backup_id} of ${created_at} was restored: ${records} records.\n` +
            leftOut(restored)
              .map((line) => `${line}\n`)
              .join('') +
            'Outgoing mails, webhooks and messages are held. Run `wardkeep outbound release` to send them.\n',
    )
  } finally {
    await stop()
    await store.close()
  }
}
