/** The environment of the scenarios: services on databases of several sizes, which are seeded on first use. */
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { ClientConfig } from 'pg'
import { seed } from './seed/seed.ts'
import type { Size } from './seed/sizes.ts'
import { OWN_LIMITS, ownerOf, type Service, type Settings, startService } from './service.ts'

/** A running service with its database. */
export interface Deployment {
  size: Size
  service: Service
  database: ClientConfig
}

export type Scale = 'large' | 'small' | 'crowded'

/** Floods are measured with the service's own limits, everything else without limits. */
const SETTINGS: Record<Scale, Settings> = {
  // Disables scheduled scans, because scenarios start scans themselves.
  large: { SELF_HEALING_SCAN: '0 0 29 2 *' },
  small: {},
  crowded: OWN_LIMITS,
}

const SEEDED_BY = [
  '../server/schema.sql',
  'seed/people.ts',
  'seed/journal.ts',
  'seed/counts.ts',
  'seed/payments.ts',
].map((file) => new URL(file, import.meta.url))

export interface Environment {
  deployment(scale: Scale): Promise<Deployment>
  /** Returns an unused path in the environment's folder. */
  emptyFolder(): string
  close(): Promise<void>
}

async function fingerprint(files: readonly URL[]): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) hash.update(await readFile(file))
  return hash.digest('hex')
}

/** @param kept a folder to use and to keep; if absent, all files are temporary */
export async function openEnvironment(
  sizes: Record<Scale, Size>,
  kept: string | undefined,
  say: (what: string) => void,
): Promise<Environment> {
  const folder = kept ? resolve(kept) : await mkdtemp(join(tmpdir(), 'wardkeep-bench-'))
  await mkdir(folder, { recursive: true })
  // If root starts the bench, the database runs as another account, which must be able to enter this folder.
  await chmod(folder, 0o711)
  const deployments = new Map<Scale, Deployment>()
  let folders = 0

  async function open(scale: Scale): Promise<Deployment> {
    const dataDir = join(folder, scale)
    const size = sizes[scale]
    const record = `${dataDir}.json`
    // Data that were seeded before a change of the tables or of the seed cannot be used.
    const wanted = JSON.stringify({ ...size, of: await fingerprint(SEEDED_BY) })
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
    const service = await startService(dataDir, SETTINGS[scale])
    return { size, service, database: ownerOf(dataDir) }
  }

  return {
    async deployment(scale) {
      const deployment = deployments.get(scale) ?? (await open(scale))
      deployments.set(scale, deployment)
      return deployment
    },
    emptyFolder() {
      folders += 1
      return join(folder, `empty-${process.pid}-${folders}`)
    },
    async close() {
      for (const { service } of deployments.values()) await service.stop()
      if (!kept) await rm(folder, { recursive: true, force: true })
    },
  }
}
