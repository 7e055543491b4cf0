/** Compares the ledger of a scenario with the database and the receiver after its fault. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { messageId } from '../../src/features/webhooks/events/message.ts'
import {
  answerFaults,
  blockFaults,
  connectionFaults,
  findingFaults,
  journalFaults,
  lostWriteFaults,
  reportFaults,
  returnDelay,
  returnFaults,
  webhookFaults,
} from './checks.ts'
import { EVENTS } from './clinic.ts'
import { acknowledgedIds, isAcknowledged, type Ledger, WRITTEN_KINDS } from './ledger.ts'
import { NODE_CONNECTIONS, type Node } from './nodes.ts'
import type { MessageReceiver } from './receiver.ts'
import type { Stack } from './stack.ts'

const MAIN = path.join(import.meta.dirname, '../../src/main.ts')
const ARRIVAL_PATIENCE_MS = 45_000
const CONNECTION_PATIENCE_MS = 10_000

/** The parts of a scenario from which its evidence is collected. */
export interface Scene {
  stack: Stack
  nodes: readonly [Node, Node]
  receiver: MessageReceiver
  ledger: Ledger
  clinicId: number
  subdomain: string
  /** The start of the scenario by the clock of the machine. */
  startedAt: Date
  /** The self-healing findings from before the fault. */
  findings: ReadonlySet<string>
  databaseUrl: string
  /** When the load ended. */
  endedAt: number
}

/** Runs every check. Returns the faults as sentences. */
export async function faultsOf(scene: Scene): Promise<string[]> {
  const { ledger, nodes, endedAt } = scene
  const returned = nodes.flatMap(({ name }) => {
    const written = ledger.entries.filter((entry) => entry.node === name && isAcknowledged(entry))
    const moments = written.map(({ answeredAt }) => answeredAt)
    return returnFaults(name, returnDelay(ledger.beats, moments, endedAt))
  })
  const losses = await lossesOf(scene)
  const isReported = await isLossReported(scene)
  const known = isReported ? [...scene.findings, 'database.writes_lost'] : scene.findings
  return [
    // A loss of data ends all sessions, so 401 is then accepted.
    ...answerFaults(ledger.entries, isReported ? [401] : []),
    ...returned,
    ...blockFaults(ledger.blocks),
    ...reportFaults(losses, isReported),
    ...(await recordFaults(scene)),
    ...(await messageFaults(scene, isReported)),
    ...(await connections(scene)),
    ...findingFaults(new Set(known), await findingsOf(scene)),
  ]
}

/** Returns whether a node reported during the scenario that acknowledged changes are missing. */
async function isLossReported({ stack, startedAt }: Scene): Promise<boolean> {
  const reports = await stack.query(
    await stack.leader(),
    'select id from lost_writes where noticed_at > $1',
    [startedAt],
  )
  return reports.length > 0
}

/** Looks for acknowledged records and blocks that the database does not have. */
async function lossesOf({ stack, ledger, clinicId }: Scene): Promise<string[]> {
  const leader = await stack.leader()
  const losses: string[] = []
  for (const kind of WRITTEN_KINDS) {
    const rows = await stack.query<{ id: string }>(
      leader,
      `select id from ${kind}s where tenant_id = $1`,
      [clinicId],
    )
    const stored = new Set(rows.map(({ id }) => Number(id)))
    losses.push(...lostWriteFaults(kind, acknowledgedIds(ledger, kind), stored))
  }
  const blocked = await stack.query<{ id: string }>(
    leader,
    'select id from users where tenant_id = $1 and not is_active',
    [clinicId],
  )
  const stored = new Set(blocked.map(({ id }) => Number(id)))
  return [...losses, ...lostWriteFaults('block', acknowledgedIds(ledger, 'block'), stored)]
}

/** Compares rows with journal entries. */
async function recordFaults({ stack, clinicId }: Scene): Promise<string[]> {
  const leader = await stack.leader()
  const faults: string[] = []
  for (const kind of WRITTEN_KINDS) {
    const rows = await stack.query<{ id: string }>(
      leader,
      `select id from ${kind}s where tenant_id = $1`,
      [clinicId],
    )
    const entries = await stack.query<{ id: string; count: string }>(
      leader,
      `select resource_id as id, count(*) from journal
       where tenant_id = $1 and action = $2 group by 1`,
      [clinicId, `${kind}.created`],
    )
    const ids = rows.map(({ id }) => Number(id))
    const counts = new Map(entries.map(({ id, count }) => [Number(id), Number(count)]))
    faults.push(...journalFaults(kind, ids, counts))
  }
  return faults
}

/** Waits for the messages of every event of the clinic since its webhook was registered. */
async function messageFaults(
  { stack, receiver, clinicId, subdomain }: Scene,
  hasLost: boolean,
): Promise<string[]> {
  const leader = await stack.leader()
  const events = await stack.query<{ id: string; created_at: Date }>(
    leader,
    `select id, created_at from journal where tenant_id = $1 and action = any($2)
       and created_at > (select created_at from webhooks where tenant_id = $1)`,
    [clinicId, EVENTS],
  )
  const expected = events.map(({ id, created_at }) =>
    messageId({ id: Number(id), created_at: created_at.toISOString() }),
  )
  const faults = () => webhookFaults(expected, receiver.receivedBy(subdomain), hasLost)
  const deadline = performance.now() + ARRIVAL_PATIENCE_MS
  const isWaiting = () => expected.some((id) => !receiver.receivedBy(subdomain).has(id))
  while (isWaiting() && performance.now() < deadline) await delay(100)
  return faults()
}

/** Counts the connections of the service. Repeats until the count is within its bound or a time limit has passed. */
async function connections({ stack, nodes }: Scene): Promise<string[]> {
  const bound = nodes.length * NODE_CONNECTIONS
  const deadline = performance.now() + CONNECTION_PATIENCE_MS
  for (;;) {
    const leader = await stack.leader()
    const counts = await Promise.all(
      stack.members.map(async (member) => {
        const [row] = await stack.query<{ count: string }>(
          member,
          `select count(*) from pg_stat_activity
           where datname = current_database() and usename = 'wardkeep'`,
        )
        return { member, count: Number(row?.count) }
      }),
    )
    const sum = (isOnLeader: boolean) =>
      counts
        .filter(({ member }) => (member === leader) === isOnLeader)
        .reduce((total, { count }) => total + count, 0)
    const faults = connectionFaults(bound, { leader: sum(true), standbys: sum(false) })
    if (faults.length === 0 || performance.now() > deadline) return faults
    await delay(500)
  }
}

/** Returns the faults that self-healing finds now, and the faults that its scheduled scans reported. */
export async function findingsOf({
  nodes: [node],
  stack,
  databaseUrl,
}: Pick<Scene, 'nodes' | 'stack' | 'databaseUrl'>): Promise<string[]> {
  const output = await new Promise<string>((resolve, reject) =>
    execFile(
      process.execPath,
      [MAIN, 'self-healing', 'scan', '--json'],
      { env: { PATH: process.env.PATH, ...node.env(databaseUrl) }, timeout: 60_000 },
      // The command exits with 1 if something was found.
      (error, stdout) =>
        stdout.startsWith('{') || stdout.startsWith('null') ? resolve(stdout) : reject(error),
    ),
  )
  const scan = JSON.parse(output) as {
    fixes: { key: string; occurrences: number; unknown: string | null }[]
  } | null
  const reported = await stack.query<{ key: string }>(
    await stack.leader(),
    `select distinct key from self_healing_fixes
     join journal on resource_id = self_healing_fixes.id::text
     where action = 'self_healing.proposed'`,
  )
  const found = (scan?.fixes ?? []).filter(
    ({ occurrences, unknown }) => occurrences > 0 || unknown !== null,
  )
  return [...found.map(({ key }) => key), ...reported.map(({ key }) => key)]
}
