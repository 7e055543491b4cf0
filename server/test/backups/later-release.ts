/** Simulates a later release, with one more migration. As a program, it restores a file into an empty database. */
import { dirname } from 'node:path'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { restoreBackupFile } from '../../src/open-features.ts'
import { type Migration, readMigrations } from '../../src/platform/schema/migrate.ts'
import { silentLog } from '../support/server-address.ts'

export async function laterMigrations(): Promise<Migration[]> {
  const released = await readMigrations()
  const version = (released.at(-1)?.version ?? 0) + 1
  const sql = `alter table users add column later text; set local role wardkeep_platform;
    update users set later = role; reset role`
  return [...released, { version, name: `${version}_later.sql`, sql, checksum: 'x' }]
}

const [, program, file, url] = process.argv
if (program === import.meta.filename && file && url)
  await restoreBackupFile(file, {
    address: { url },
    rootKeys: [Buffer.from(process.env.ROOT_KEY ?? '', 'hex')],
    log: silentLog,
    store: folderStore(dirname(file)),
    migrations: await laterMigrations(),
  })
