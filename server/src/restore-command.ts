/** The commands that bring a backup back into an empty database, and let the copy speak. */
import { resolve } from 'node:path'
import { restoreFile } from './app.ts'
import { type Config, readConfig } from './config.ts'
import { formerKey, readKeyFile } from './platform/crypto/index.ts'
import { openLog } from './platform/observe/log.ts'
import { openDatabase } from './start.ts'

export async function restoreBackup(file: string): Promise<void> {
  const config = readConfig()
  const log = openLog('warn')
  const rootKey = await givenKey(config)
  const { address, stop } = await openDatabase(config, log)
  try {
    const { header, records } = await restoreFile(resolve(file), {
      address,
      rootKey,
      log,
      onProgress: process.stderr.isTTY ? showProgress : undefined,
    })
    process.stdout.write(
      `Backup ${header.backup_id} of ${header.created_at} is restored: ${records} records.\n` +
        'Nothing goes out by itself: mails, webhooks and messages wait until `wardkeep outbound release`.\n',
    )
  } finally {
    await stop()
  }
}

/** Never a new one, as at a start: it would open nothing. */
async function givenKey({ ENCRYPTION_KEY, ENCRYPTION_KEY_FILE, DATA_DIR }: Config) {
  if (ENCRYPTION_KEY) return ENCRYPTION_KEY
  if (ENCRYPTION_KEY_FILE) return readKeyFile(ENCRYPTION_KEY_FILE)
  return formerKey(resolve(DATA_DIR))
}

let shown = -1
function showProgress(share: number): void {
  const percent = Math.floor(share * 100)
  if (percent === shown) return
  shown = percent
  process.stderr.write(`\rrestoring: ${percent} %${percent === 100 ? '\n' : ''}`)
}
