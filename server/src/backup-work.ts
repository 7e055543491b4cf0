/** What `wardkeep backup` does. What was asked for goes to stdout, how far it is to stderr. */
import { type App, backupIdentity, verifyBackupFile } from './app.ts'
import { withApp } from './commands.ts'
import { readConfig } from './config.ts'
import { StartupError } from './lib/startup-error.ts'
import { openLog } from './platform/observe/log.ts'
import { rootKeyOf } from './start.ts'

interface Output {
  json?: boolean
}

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

export function create({ json, tenant }: Output & { tenant?: string }): Promise<void> {
  const id = tenant === undefined ? null : Number(tenant)
  if (id !== null && !Number.isSafeInteger(id))
    throw new StartupError('Give the id of the tenant, a number.')
  return onBackups(async (backups) => told(await backups.create(id, progress('backup')), json))
}

export function list({ json }: Output): Promise<void> {
  return onBackups(async (backups) => {
    const found = await backups.list()
    return json
      ? JSON.stringify(found)
      : ['The backups, latest first:', ...found.items.map(line)].join('\n')
  })
}

export async function verify(what: string, { json }: Output): Promise<void> {
  if (UUID.test(what))
    return onBackups(async (backups) => told(await backups.verify(what, progress('read')), json))
  const file = await verifyBackupFile(what, await keys())
  process.stdout.write(`${json ? JSON.stringify(file) : `${what} is whole: ${line(file)}`}\n`)
}

export async function identity(): Promise<void> {
  process.stdout.write(`${await backupIdentity(await keys())}\n`)
}

export function adopt({ json }: Output): Promise<void> {
  return onBackups(async (backups) => {
    const found = await backups.adopt()
    if (json) return JSON.stringify(found)
    const lines = [
      ...found.adopted.map((id) => `${id} is entered.`),
      ...found.refused.map(({ name, reason }) => `${name} is not: ${reason}.`),
    ]
    return lines.length > 0 ? lines.join('\n') : 'The database knows all backups of the store.'
  })
}

type Commands = App['features']['backups']['commands']
type Backup = Awaited<ReturnType<Commands['create']>>

/** Beside a running service, or without one. */
const onBackups = (work: (backups: Commands) => Promise<string>): Promise<void> =>
  withApp((app) => work(app.features.backups.commands), true)

async function keys() {
  const config = readConfig()
  const rootKey = await rootKeyOf(config, openLog('warn'))
  return { rootKey, recipients: config.BACKUP_AGE_RECIPIENT }
}

/** Tells on stderr each percent once. */
function progress(what: string): (share: number) => void {
  let last = -1
  return (share) => {
    const percent = Math.floor(share * 100)
    if (percent <= last) return
    last = percent
    process.stderr.write(`${what}: ${percent} %\n`)
  }
}

const told = (backup: Backup, json = false) => (json ? JSON.stringify(backup) : line(backup))

type Line = Pick<
  Backup,
  'backup_id' | 'type' | 'tenant_id' | 'created_at' | 'size_bytes' | 'records'
> &
  Partial<Pick<Backup, 'status' | 'verified_at'>>

function line(backup: Line): string {
  const { backup_id, type, tenant_id, created_at, size_bytes, records, status, verified_at } =
    backup
  const subject = type === 'full' ? 'everything' : `tenant ${tenant_id}`
  const amount = size_bytes === null ? '' : `, ${records} rows in ${size_bytes} bytes`
  const proof =
    status === undefined ? '' : `, ${status}${verified_at ? `, read again ${verified_at}` : ''}`
  return `${backup_id} of ${subject}, ${created_at}${amount}${proof}`
}
