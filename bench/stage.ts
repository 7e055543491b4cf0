/** What scenarios play on: the service on a large and on a small database, seeded when first asked for. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { ClientConfig } from 'pg'
import { seed } from './seed/seed.ts'
import type { Size } from './seed/sizes.ts'
import { ownerOf, type Service, startService } from './service.ts'

/** A running service with its database. */
export interface House {
  size: Size
  service: Service
  database: ClientConfig
}

export type Scale = 'large' | 'small'

export interface Stage {
  house(scale: Scale): Promise<House>
  /** A path in the stage's folder at which nothing is. */
  emptyFolder(): string
  close(): Promise<void>
}

/** @param kept a folder to use and to leave behind; without one all is temporary */
export async function openStage(
  sizes: Record<Scale, Size>,
  kept: string | undefined,
  say: (what: string) => void,
): Promise<Stage> {
  const folder = kept ? resolve(kept) : await mkdtemp(join(tmpdir(), 'wardkeep-bench-'))
  await mkdir(folder, { recursive: true })
  // Started by root, the database runs as another account, which has to get through here.
  await chmod(folder, 0o711)
  const houses = new Map<Scale, House>()
  let folders = 0

  async function open(scale: Scale): Promise<House> {
    const dataDir = join(folder, scale)
    const size = sizes[scale]
    const record = `${dataDir}.json`
    const wanted = JSON.stringify(size)
    const seeded = await readFile(record, 'utf8').catch(() => '')
    if (seeded !== wanted) {
      await rm(dataDir, { recursive: true, force: true })
      const start = performance.now()
      const empty = await startService(dataDir)
      try {
        await seed(ownerOf(dataDir), size, (what) => say(`seeding ${scale}: ${what}`))
      } finally {
        await empty.stop()
      }
      await writeFile(record, wanted)
      say(`seeded ${scale} in ${((performance.now() - start) / 1000).toFixed(0)} s`)
    }
    return { size, service: await startService(dataDir), database: ownerOf(dataDir) }
  }

  return {
    async house(scale) {
      const house = houses.get(scale) ?? (await open(scale))
      houses.set(scale, house)
      return house
    },
    emptyFolder() {
      folders += 1
      return join(folder, `empty-${process.pid}-${folders}`)
    },
    async close() {
      for (const { service } of houses.values()) await service.stop()
      if (!kept) await rm(folder, { recursive: true, force: true })
    },
  }
}
