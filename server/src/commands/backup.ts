import { resolve } from 'node:path'
import { type App, openApp } from '../app.ts'
import { readConfig } from '../config/config.ts'
import { givenKeys, keySource } from '../config/key-source.ts'
import { StartupError } from '../lib/startup-error.ts'
import { backupIdentity, storeBy, verifyBackupFile } from '../open-features.ts'
import { givenOnly } from '../platform/crypto/index.ts'
import type { DatabaseAddress } from '../platform/db/index.ts'
import { openLog } from '../platform/observe/log.ts'
import { withApp } from './service.ts'

interface Output {
  json?: boolean
}

/** Returns true for the id of a backup, false for a path. */
export const isId = (what: string): boolean =>
  /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(what)

const LOCAL = 'http://localhost'

export function create({ json, tenant }: Output & { tenant?: string }): Promise<void> {
  const id = tenant === undefined ? null : Number(tenant)
  if (id !== null && !Number.isSafeInteger(id))
    throw new StartupError('Invalid tenant id. Pass the id of the tenant as a number.')
  return onBackups(async (backups) => render(await backups.create(id, progress('backup')), json))
}

export function listBackupsCommand({ json }: Output): Promise<void> {
  return onBackups(async (backups) => {
    const found = await backups.list()
    return json
      ? JSON.stringify(found)
      : ['Backups, newest first:', ...found.items.map(line)].join('\n')
  })
}

export async function verifyBackup(
  what: string,
  { json, drill }: Output & { drill?: boolean },
): Promise<void> {
  if (isId(what))
    return onBackups(async (backups) => {
      const check = drill ? backups.drill : backups.verify
      return render(await check(what, progress(drill ? 'drill' : 'read')), json)
    })
  const how = drill ? trial() : undefined
  const file = await verifyBackupFile(what, await keys(), how).finally(() => how?.close())
  process.stdout.write(`${json ? JSON.stringify(file) : `${what} is valid: ${line(file)}`}\n`)
}

/** Returns the dependencies of a drill without a running service. Opens one on the restored copy only to verify it. */
function trial() {
  const config = readConfig()
  const store = storeBy(config)
  const log = openLog('warn', 2)
  return {
    dataDir: resolve(config.DATA_DIR),
    stores: [store],
    close: store.close,
    log,
    async verify(address: DatabaseAddress) {
      // Passes only the keys, so that opening the copy does not move key files of this data folder.
      const rootKeys = givenOnly(...(await keySource(config, log).given()))
      const app = await openApp({ config, address, publicUrl: LOCAL, rootKeys, log, role: 'api' })
      try {
        await app.features.backups.commands.verifyDatabase(address)
      } finally {
        await app.close()
      }
    },
  }
}

export async function identity(): Promise<void> {
  process.stdout.write(`${await backupIdentity(await keys())}\n`)
}

export function adoptBackups({ json }: Output): Promise<void> {
  return asFarAsPossible(async (backups, left) => {
    const { adopted, refused } = await backups.adopt()
    left.push(...refused.map(({ name, reason }) => `${name}: ${reason}.`))
    if (json) return JSON.stringify({ adopted, refused })
    if (adopted.length > 0) return adopted.map((id) => `${id} registered.`).join('\n')
    return refused.length > 0
      ? 'No backup was registered.'
      : 'All backups in the store are already registered.'
  })
}

export function forgetTenantInBackups(tenant: string, { json }: Output): Promise<void> {
  const id = Number(tenant)
  if (!Number.isSafeInteger(id))
    throw new StartupError('Invalid tenant id. Pass the id of the tenant as a number.')
  return asFarAsPossible(async (backups, left) => {
    const found = await backups.forgetTenant(id, progress('rewritten'))
    for (const { backup_id, reason } of found.left)
      left.push(`${backup_id} may still contain the tenant: ${reason}.`)
    if (json) return JSON.stringify(found)
    const lines = [
      ...found.rewritten.map((backup) => `${backup} was rewritten without the tenant.`),
      ...found.earlier.map((backup) => `${backup} had already been rewritten.`),
    ]
    return lines.length > 0 ? lines.join('\n') : 'No backup was rewritten.'
  })
}

type Commands = App['features']['backups']['commands']
type Backup = Awaited<ReturnType<Commands['create']>>

export const onBackups = (work: (backups: Commands) => Promise<string>): Promise<void> =>
  withApp((app) => work(app.features.backups.commands), true)

/** Runs backup commands like `onBackups`. Exits with 1 if the work adds messages about incomplete parts to `left`. */
async function asFarAsPossible(
  work: (backups: Commands, left: string[]) => Promise<string>,
): Promise<void> {
  const left: string[] = []
  await onBackups((backups) => work(backups, left))
  if (left.length > 0) throw new StartupError(...left)
}

async function keys() {
  const config = readConfig()
  const rootKeys = await givenKeys(config, openLog('warn', 2))
  return { rootKeys, recipients: config.BACKUP_AGE_RECIPIENT }
}

/** Returns a function that writes each percent to stderr once. */
export function progress(what: string): (share: number) => void {
  let last = -1
  return (share) => {
    const percent = Math.floor(share * 100)
    if (percent <= last) return
    last = percent
    process.stderr.write(`${what}: ${percent} %\n`)
  }
}

const render = (backup: Backup, json = false) => (json ? JSON.stringify(backup) : line(backup))

type Line = Pick<
  Backup,
  'backup_id' | 'type' | 'tenant_id' | 'created_at' | 'size_bytes' | 'records'
> &
  Partial<Pick<Backup, 'reason' | 'status' | 'verified_at' | 'drill_seconds' | 'error'>>

/** The reason to show for a backup that no user has requested. */
const REASONS = { request: '', schedule: 'scheduled', safety: 'created before a restore' }

function line(backup: Line): string {
  const { backup_id, type, tenant_id, created_at, size_bytes, records, status } = backup
  const { reason = 'request', verified_at, drill_seconds, error } = backup
  const subject = type === 'full' ? 'everything' : `tenant ${tenant_id}`
  const amount = size_bytes === null ? '' : `, ${records} rows in ${size_bytes} bytes`
  const parts = [
    `${backup_id} of ${subject}`,
    REASONS[reason],
    `${created_at}${amount}`,
    status,
    verified_at && `verified ${verified_at}`,
    drill_seconds && `test restore took ${Math.ceil(drill_seconds)} s`,
  ]
  const words = parts.filter(Boolean).join(', ')
  return error ? `${words}: ${error}` : words
}
