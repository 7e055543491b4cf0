/** What `wardkeep backup restore` does: a backup in its place, or a file into an empty database. */
import { resolve } from 'node:path'
import { type App, restoreFile, storeBy } from '../app.ts'
import { readConfig } from '../config/config.ts'
import { givenKeys } from '../config/key-source.ts'
import { StartupError } from '../lib/startup-error.ts'
import { openLog } from '../platform/observe/log.ts'
import { isId, onBackups, progress } from './backup-work.ts'
import { openDatabase } from './start.ts'

export interface RestoreChoices {
  tenant?: string
  access?: string
  dryRun?: boolean
  yes?: boolean
  json?: boolean
}

export function restoreBackup(what: string, choices: RestoreChoices): Promise<void> {
  return isId(what) ? restoreInPlace(what, choices) : restoreIntoEmpty(what, choices)
}

/** By the service that runs, or without one: nobody signs in meanwhile. */
async function restoreInPlace(id: string, choices: RestoreChoices): Promise<void> {
  const { dryRun: dry_run = false, yes, json } = choices
  const wanted = { ...whatOf(choices), dry_run }
  if (!dry_run && !yes)
    throw new StartupError(
      'It takes back all that was changed since, and signs everybody out: give --yes, or --dry-run to see what it would do.',
    )
  await onBackups(async (backups) => {
    const job = await backups.restore(id, wanted, progress(dry_run ? 'comparing' : 'restoring'))
    return json ? JSON.stringify(job) : inWords(job)
  })
}

function whatOf({ tenant, access = 'merged' }: RestoreChoices) {
  if (access !== 'merged' && access !== 'backup')
    throw new StartupError('--access: must be merged or backup.')
  if (tenant === undefined) return { access } as const
  const tenant_id = Number(tenant)
  if (!Number.isSafeInteger(tenant_id))
    throw new StartupError('Give the id of the tenant, a number.')
  return { access, tenant_id } as const
}

type Job = Awaited<ReturnType<App['features']['backups']['commands']['restore']>>

function inWords({ backup_id, result }: Job): string {
  if (!result) return `Backup ${backup_id} is restored.`
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
    dry_run ? `A restore of backup ${backup_id} would do:` : `Backup ${backup_id} is restored:`,
    ...(isSame ? ['  nothing: all is as it was then'] : rows),
    ...clinicsGone(deleted, dry_run),
    `Access that ${dry_run ? 'would not come' : 'did not come'} back as it was: ${access.total}.`,
    ...leftOut(result),
    ...(safety_backup_id ? [`What was before is in backup ${safety_backup_id}.`] : []),
  ].join('\n')
}

const clinicsGone = (deleted: readonly number[], isRehearsed: boolean): string[] =>
  deleted.length > 0
    ? [
        `${isRehearsed ? 'Would be deleted' : 'Deleted'}, as they were not there then: tenants ${deleted.join(', ')}.`,
      ]
    : []

interface LeftOut {
  purged: readonly number[]
  purged_records: Readonly<Record<string, number>>
}

function leftOut({ purged, purged_records }: LeftOut): string[] {
  const records = Object.entries(purged_records).map(([table, count]) => `${count} ${table}`)
  const tenants = purged.length > 0 ? [`tenants ${purged.join(', ')}`] : []
  return [...tenants, ...records].map((what) => `Left out because they were purged: ${what}.`)
}

async function restoreIntoEmpty(file: string, choices: RestoreChoices): Promise<void> {
  if (choices.tenant !== undefined || choices.access !== undefined || choices.dryRun)
    throw new StartupError(
      'A file goes into an empty database as a whole: --tenant, --access and --dry-run are for a backup that the database knows, by its id.',
    )
  const config = readConfig()
  const log = openLog('warn', 2)
  const rootKeys = await givenKeys(config, log)
  const store = storeBy(config)
  const { address, stop } = await openDatabase(config, log)
  try {
    const restored = await restoreFile(resolve(file), {
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
        : `Backup ${backup_id} of ${created_at} is restored: ${records} records.\n` +
            leftOut(restored)
              .map((line) => `${line}\n`)
              .join('') +
            'Nothing goes out by itself: mails, webhooks and messages wait until `wardkeep outbound release`.\n',
    )
  } finally {
    await stop()
    await store.close()
  }
}
