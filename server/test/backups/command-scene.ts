/** Helpers to run `wardkeep backup`: a service with a clinic, and a folder for its backups. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { runCommand } from '../docs/command.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService, ROOT_KEY } from '../support/service.ts'

export type ByCommand = Awaited<ReturnType<typeof openByCommand>>

/** Opens a service without background work, so that only the command makes backups. */
export async function openByCommand() {
  const service = await openService()
  const clinic = await makeClinic(service, await superadmin(service), 'north')
  const folder = await mkdtemp('/tmp/wardkeep-backups-')
  const run = (args: string[], env: Record<string, string> = {}) =>
    runCommand(['backup', ...args], {
      DATABASE_URL: service.database.url,
      ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
      DATA_DIR: folder,
      BACKUP_DIR: folder,
      ...env,
    })
  return {
    service,
    clinic,
    folder,
    run,
    /** Makes a backup and waits for it. */
    async made(...args: string[]) {
      const ended = await run(['create', '--json', ...args])
      expect(ended.code, ended.stderr).toBe(0)
      return { ...ended, backup: JSON.parse(ended.stdout) }
    },
    fileOf: (id: string) => join(folder, `${id}.tar.zst.age`),
    close: () => rm(folder, { recursive: true }),
  }
}
