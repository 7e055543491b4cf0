/** A primary and its standby, both embedded servers of a test. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { EmbeddedServer } from '../../src/platform/embedded/index.ts'
import { migrate } from '../../src/platform/schema/migrate.ts'
import { query, started } from './embedded.ts'
import { scratch } from './scratch.ts'
import { silentLog } from './server-address.ts'
import { openSwitch } from './tcp-switch.ts'
import { until } from './until.ts'

export interface TwoServers {
  primary: EmbeddedServer['connection']
  standby: EmbeddedServer['connection']
  /** Resolves once the standby has replayed everything the primary has written so far. */
  replayed(): Promise<unknown>
  /** Resolves once the standby has everything that the primary has written so far, and has stopped streaming. */
  detach(): Promise<unknown>
}

const SETTINGS = { fsync: 'off', max_connections: '120' }

/** Starts both on a migrated database. The standby streams from the primary. */
export async function startTwoServers(): Promise<TwoServers> {
  const [first, second] = [await scratch(), await scratch()]
  const made = await started(first, SETTINGS)
  await migrate(made.connection, silentLog)
  await made.stop()
  await promisify(execFile)('cp', ['-a', join(first, 'postgres'), second])
  await writeFile(join(second, 'postgres', 'standby.signal'), '')
  const { connection: primary } = await started(first, SETTINGS)
  const stream = await openSwitch(primary)
  const source = `host=127.0.0.1 port=${stream.port} user=${primary.user}`
  const { connection: standby } = await started(second, { ...SETTINGS, primary_conninfo: source })
  const readValue = async (of: typeof primary, text: string) =>
    (await query<{ value: string }>(of, `select ${text}::text as value`))[0]?.value
  async function replayed() {
    const written = await readValue(primary, 'pg_current_wal_lsn()')
    const isThere = `(pg_last_wal_replay_lsn() >= '${written}')`
    return until('the standby has caught up', async () =>
      (await readValue(standby, isThere)) === 'true' ? true : undefined,
    )
  }
  return {
    primary,
    standby,
    replayed,
    async detach() {
      await replayed()
      // No server listens there.
      stream.point({ ...primary, port: 1 })
      return until('the standby streams no longer', async () =>
        (await query(primary, 'select from pg_stat_replication')).length === 0 ? true : undefined,
      )
    },
  }
}
