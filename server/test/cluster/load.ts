/** The load of a scenario: writers on both nodes, users who are blocked, and the heartbeat of the harness. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type Clinic, type SignedInUser, statusOf } from './clinic.ts'
import { call } from './http.ts'
import {
  acknowledgedIds,
  type BlockRecord,
  isAcknowledged,
  type Ledger,
  type WrittenKind,
} from './ledger.ts'
import type { Node } from './nodes.ts'

/** The interval at which each node is asked to create a department. Does not wait for earlier answers. */
const DEPARTMENT_EVERY_MS = 200
/** How long a writer pauses after each answer. */
const WRITER_PAUSE_MS = 150
const BEAT_EVERY_MS = 150
const BEAT_PATIENCE_MS = 1_000
const BLOCK_EVERY_MS = 5_000
const PROBE_EVERY_MS = 400
/** How long the load keeps sending requests of a blocked user. */
const PROBED_FOR_MS = 12_000
const PROBED_AT_LEAST_MS = 2_000

/** A running load. */
export interface Load {
  /** Waits until both nodes have acknowledged writes that were sent after this call. */
  untilWriting(patience: number): Promise<boolean>
  /** Stops sending, and waits for the last answers. */
  stop(): Promise<void>
}

const PATHS: Record<WrittenKind, string> = {
  department: '/api/admin/departments',
  user: '/api/admin/users',
  patient: '/api/patients',
}

function bodyOf(kind: WrittenKind, name: string, tenantId: number): object {
  if (kind === 'department') return { name }
  if (kind === 'patient') return { full_name: name }
  return {
    email: `${name}@load.test`,
    password: 'correct-Horse-9',
    full_name: name,
    role: 'nurse',
    tenant_id: tenantId,
  }
}

/** Starts the load, which runs until it is stopped. */
export function startLoad(
  nodes: readonly [Node, Node],
  clinic: Clinic,
  beatUrl: string,
  ledger: Ledger,
): Load {
  const stopping = new AbortController()
  const { signal } = stopping
  const work: Promise<void>[] = []
  let count = 0
  let renewing: Promise<void> | undefined
  const renew = (node: Node) => {
    renewing ??= clinic
      .renewToken(node)
      // A failed sign-in is ignored, because the next 401 triggers another one.
      .catch(() => undefined)
      .finally(() => {
        renewing = undefined
      })
    return renewing
  }
  const write = async (node: Node, kind: WrittenKind) => {
    const body = bodyOf(kind, `${kind}-${node.name}-${++count}`, clinic.id)
    const result = await call(node.address, 'POST', PATHS[kind], { token: clinic.token, body })
    ledger.record(node.name, kind, result, result.body?.id)
    if (result.status === 401) await renew(node)
  }
  for (const node of nodes) {
    work.push(
      repeat(signal, DEPARTMENT_EVERY_MS, async () => void work.push(write(node, 'department'))),
      repeat(signal, WRITER_PAUSE_MS, () => write(node, 'user')),
      repeat(signal, WRITER_PAUSE_MS, () => write(node, 'patient')),
    )
  }
  work.push(
    repeat(signal, BEAT_EVERY_MS, async () => {
      const succeeded = await beat(beatUrl)
      ledger.beats.push({ at: performance.now(), succeeded })
    }),
  )
  for (const pair of [nodes, [nodes[1], nodes[0]] as const]) {
    const users = clinic.users.filter((_, index) => (index % 2 === 0) === (pair === nodes))
    work.push(blockUsers(users, pair, clinic, ledger, { signal, work }))
  }
  return {
    async untilWriting(patience) {
      const begun = performance.now()
      const isWriting = ({ name }: Node) =>
        ledger.entries.some(
          (entry) => entry.node === name && entry.sentAt > begun && isAcknowledged(entry),
        )
      while (performance.now() < begun + patience) {
        if (nodes.every(isWriting)) return true
        await delay(100)
      }
      return false
    },
    async stop() {
      stopping.abort()
      // Waits in a loop, because work that ends may have started more work.
      for (let ended = 0; ended < work.length; ) {
        ended = work.length
        await Promise.all(work)
      }
    },
  }
}

/** Repeats work until the signal aborts, with a pause after each turn. */
async function repeat(signal: AbortSignal, pauseMs: number, turn: () => Promise<void>) {
  while (!signal.aborted) {
    await turn()
    await delay(pauseMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Writes one row over a new connection. */
async function beat(url: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: BEAT_PATIENCE_MS,
    query_timeout: BEAT_PATIENCE_MS,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('insert into beats values (now())')
    return true
  } catch {
    return false
  } finally {
    // Does not wait for the end of the connection, because an unresponsive server does not answer that either.
    void client.end().catch(() => undefined)
  }
}

/** Blocks one user after the other on a node, and sends their requests to the other node. */
async function blockUsers(
  users: readonly SignedInUser[],
  [on, other]: readonly [Node, Node],
  clinic: Clinic,
  ledger: Ledger,
  { signal, work }: { signal: AbortSignal; work: Promise<void>[] },
): Promise<void> {
  const left = [...users]
  await repeat(signal, BLOCK_EVERY_MS, async () => {
    const user = left.shift()
    if (!user) return
    await statusOf(other, user.token)
    const record = await block(on, user, clinic, ledger, signal)
    if (record) work.push(probe(other, user, record, signal))
  })
}

/** Blocks a user, with retries. Returns undefined if no node acknowledged it. */
async function block(
  node: Node,
  user: SignedInUser,
  clinic: Clinic,
  ledger: Ledger,
  signal: AbortSignal,
): Promise<BlockRecord | undefined> {
  while (!signal.aborted) {
    const path = `/api/admin/users/${user.id}/block`
    const result = await call(node.address, 'POST', path, { token: clinic.token })
    ledger.record(node.name, 'block', result, user.id)
    if (acknowledgedIds(ledger, 'block').includes(user.id)) {
      const { answeredAt: acknowledgedAt } = result
      const record = { userId: user.id, blockedOn: node.name, acknowledgedAt, probes: [] }
      ledger.blocks.push(record)
      return record
    }
    await delay(500)
  }
  return undefined
}

/** Sends requests of a blocked user for some seconds, or until the load ends. */
async function probe(
  node: Node,
  user: SignedInUser,
  { acknowledgedAt, probes }: BlockRecord,
  signal: AbortSignal,
) {
  const isDue = () =>
    performance.now() < acknowledgedAt + (signal.aborted ? PROBED_AT_LEAST_MS : PROBED_FOR_MS)
  while (isDue()) {
    const sentAt = performance.now()
    probes.push({ sentAt, status: await statusOf(node, user.token) })
    await delay(PROBE_EVERY_MS)
  }
}
