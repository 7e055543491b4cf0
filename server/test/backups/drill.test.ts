/** Drills: restored for real, measured, journaled; and nothing is left of them. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { drillNewest } from '../../src/features/backups/drill/planned.ts'
import { proveDatabase } from '../../src/features/backups/drill/seals.ts'
import { clearThrownAway } from '../../src/features/backups/drill/throw-away.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { openSealer } from '../../src/platform/crypto/index.ts'
import { enrol } from '../second-factor/enrol.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { fileOf, keeper, make } from './support.ts'

// A cluster is made for each drill.
vi.setConfig({ testTimeout: 90_000 })

const SECRETS = {
  table: 'second_factors',
  id: { column: 'user_id', type: 'bigint' },
  columns: ['sealed_secret'],
  formerly: { sealed_secret: 'second_factors.secret' },
} as const

let service: Service
let root: Person
let north: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  await enrol(service, north.people.doctor.token)
})

const drill = async () =>
  drillNewest({
    db: service.app.db,
    store: folderStore(join(service.dataDir, 'backups')),
    dataDir: service.dataDir,
    keeper: await keeper(),
    prove: (address) => proveDatabase(address, openSealer(ROOT_KEY), [SECRETS]),
    log: silentLog,
  })

const left = async () => (await readdir(service.dataDir)).filter((name) => /^drill-/.test(name))

test('restores the newest backup of everything, and says how long that took', async () => {
  expect(await drill()).toBeNull()
  const id = await make(service, root)
  await make(service, north.people.admin)
  const seconds = await drill()
  const [row] = await service.database.sql('select drill_seconds from backups where id = $1', [id])
  expect(row).toEqual({ drill_seconds: seconds })
  expect(seconds).toBeGreaterThan(0)
  const entries = await service.database.sql(
    `select changes from journal where action = 'backup.verified' and resource_id = $1`,
    [id],
  )
  expect(entries).toEqual([{ changes: { type: 'full', drill_seconds: seconds } }])
  expect(await left()).toEqual([])
})

test('fails for a file that was altered, and for a field that does not open', async () => {
  const proofOf = async (id: string) => {
    const [row] = await service.database.sql(
      `select verified_at is not null as is_proven, (select count(*) from journal
         where action = 'backup.failed' and resource_id = backups.id::text) as told
       from backups where id = $1`,
      [id],
    )
    return row
  }
  const id = await make(service, root)
  expect(await proofOf(id)).toEqual({ is_proven: true, told: 0 })
  const bytes = await readFile(fileOf(service, id))
  const altered = Buffer.from(bytes)
  altered[bytes.length - 40] = (bytes[bytes.length - 40] ?? 0) ^ 1
  await writeFile(fileOf(service, id), altered)
  await expect(drill()).rejects.toThrow(/altered/)
  expect(await proofOf(id)).toEqual({ is_proven: false, told: 1 })
  await service.database.sql(
    `update second_factors set sealed_secret = set_byte(sealed_secret, length(sealed_secret) - 1,
       (get_byte(sealed_secret, length(sealed_secret) - 1) + 1) % 256)`,
  )
  const sealed = await make(service, root)
  await expect(drill()).rejects.toThrow(/second_factors/)
  expect(await proofOf(sealed)).toEqual({ is_proven: false, told: 1 })
  const rows = await service.database.sql(
    'select from backups where drill_seconds is not null and id = $1',
    [id],
  )
  expect(rows).toEqual([])
  expect(await left()).toEqual([])
})

test('what a drill has left that died goes with the next start', async () => {
  const folder = join(service.dataDir, 'drill-left')
  await mkdir(join(folder, 'postgres'), { recursive: true })
  await clearThrownAway(service.dataDir, silentLog)
  expect(await left()).toEqual([])
})
