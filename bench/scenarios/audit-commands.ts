/**
 * The cost of the transparency logs for commands. Compares the commands per second with those of an equal service that
 * seals nothing. Also measures, at half of that load, how soon entries are sealed.
 *
 * Both services mark their entries (two salts and a MAC), because marks cannot be switched off. The comparison
 * therefore covers only the sealing: reading the entries, and writing their leaves and tiles.
 */
import { rm } from 'node:fs/promises'
import pg from 'pg'
import { compare } from '../measure/compare.ts'
import { percentile } from '../measure/statistics.ts'
import { perSecond } from '../measure/table.ts'
import { ownerOf, type Service, startService } from '../service.ts'
import { addDepartments, signInAdmins } from './departments.ts'
import { pacedDepartments } from './paced-departments.ts'
import { CONNECTIONS, type Scenario } from './scenario.ts'
import { untilSealed } from './sealing.ts'

const CLINICS = 8
/** The factor by which turns are longer than usual, because the aim is close to 1 and short turns vary by more. */
const LONGER_TURNS = 3
/** The phase at half of the load lasts as long as this many usual turns. */
const LONGER = 2
const LIMIT_MS = 2_000

export const auditCommands: Scenario = async (environment, pace, say) => {
  const contenders: Contender[] = []
  try {
    const sealing = await openContender(environment.emptyFolder())
    contenders.push(sealing)
    const unsealed = await openContender(environment.emptyFolder(), stopSealing)
    contenders.push(unsealed)
    const leaves = await countLeaves(unsealed)

    const outcome = await compare(
      async (seconds) => {
        const rate = await sealing.write(seconds)
        const start = performance.now()
        // Entries that are sealed after their turn must not burden the other service.
        await untilSealed(sealing.database)
        say(
          `audit-commands: all sealed ${(performance.now() - start).toFixed(0)} ms after the turn`,
        )
        return rate
      },
      unsealed.write,
      { ...pace, seconds: pace.seconds * LONGER_TURNS },
    )
    const sealed = (await countLeaves(unsealed)) - leaves
    if (sealed > 0) throw new Error(`the service without sealing has sealed ${sealed} entries`)
    await unsealed.close()

    const half = outcome.ours / 2
    say(`audit-commands: now at ${perSecond(half)}`)
    const { service, callers, database } = sealing
    const seconds = pace.seconds * LONGER
    const ms = await pacedDepartments({ url: service.url, callers, database, rate: half, seconds })
    const p99 = percentile(ms, 0.99)
    return [
      {
        name: 'commands with sealing, against without',
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        ratio: outcome.ratio,
        aim: { atLeast: 0.95 },
      },
      {
        name: `entries at ${perSecond(half)}, from their transaction until sealed`,
        ours: `p50 ${percentile(ms, 0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
        limit: `p99 ${LIMIT_MS} ms`,
        ratio: p99 / LIMIT_MS,
        aim: { atMost: 1 },
      },
    ]
  } finally {
    for (const contender of contenders) await contender.close()
  }
}

interface Contender {
  service: Service
  callers: Record<string, string>[]
  database: pg.Client
  write(seconds: number): Promise<number>
  /** Stops the service and removes its data. Later calls do nothing. */
  close(): Promise<void>
}

/** Starts a service with its clinics. @param prepare runs before any clinic exists */
async function openContender(
  folder: string,
  prepare?: (database: pg.Client) => Promise<void>,
): Promise<Contender> {
  const service = await startService(folder)
  const database = new pg.Client(ownerOf(folder))
  let closing: Promise<void> | undefined
  const end = async () => {
    await database.end()
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
  const close = () => {
    closing ??= end()
    return closing
  }
  try {
    await database.connect()
    await prepare?.(database)
    const callers = await signInAdmins(service.url, CLINICS)
    const write = (seconds: number) =>
      addDepartments({ url: service.url, callers, connections: CONNECTIONS, seconds })
    return { service, callers, database, write, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Moves the sealing consumer to a position that no transaction reaches. The consumer refuses such a position, so each of
 * its polls, one per second, fails before it reads or locks anything. The other consumers are not affected. The service
 * is already running, because it corrects such positions when it starts.
 */
async function stopSealing(database: pg.Client): Promise<void> {
  await database.query(
    `insert into journal_consumers (consumer, xid, id) values ('audit', $1, 0)
     on conflict (consumer) do update set xid = excluded.xid, id = 0`,
    [UNREACHABLE],
  )
}

const UNREACHABLE = '9000000000000000000'

const countLeaves = async ({ database }: Contender): Promise<number> =>
  (await database.query('select count(*)::float8 as count from audit_leaves')).rows[0].count
