/**
 * Clients that keep writing while a restore uses maintenance mode, and a ledger of the responses that they received.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { LOCKS } from '../../src/platform/db/lock-numbers.ts'
import { senderTo } from '../payments/scene.ts'
import { OF_THIS_DATABASE } from '../support/database.ts'
import { cardnetNotice } from '../support/payments.ts'
import type { Answer, Service } from '../support/service.ts'

/** A request and its response. Times are from `performance.now()`. */
export interface Entry {
  node: string
  begun: number
  ended: number
  status: number
  retryAfter: number
  /** The row that the request wrote, with the written value. Undefined if the request wrote nothing. */
  row?: { table: string; id: string; value: string }
}

export interface Ledger {
  entries: Entry[]
  /** Stops the writers. A test calls this when it has seen enough requests. */
  stop(): Promise<void>
}

/** A request of a writer. `row` receives the body of a 2xx response. */
export interface Request {
  method: string
  path: string
  body?: object
  row?(answer: any): NonNullable<Entry['row']>
}

export interface Writer {
  node: string
  service: Service
  /** Signs in again, because a restore ends every session. */
  signIn(): Promise<string>
  /** Returns the writer's next request. */
  next(turn: number): Request
}

/** Runs every writer, one request after the other, until it is stopped. */
export function keepLedger(writers: readonly Writer[]): Ledger {
  const entries: Entry[] = []
  const state = { isOver: false }
  const running = writers.map((writer) => write(writer, entries, state))
  return {
    entries,
    async stop() {
      state.isOver = true
      await Promise.all(running)
    },
  }
}

async function write(
  { node, service, signIn, next }: Writer,
  entries: Entry[],
  state: { isOver: boolean },
): Promise<void> {
  let token = await signIn()
  for (let turn = 0; !state.isOver; turn += 1) {
    const { method, path, body, row } = next(turn)
    const begun = performance.now()
    const answer = await service.call(method, path, { token, ...(body ? { body } : {}) })
    const entry = entryOf(node, begun, answer)
    if (entry.status < 300 && row) entry.row = row(answer.body)
    entries.push(entry)
    // Retries, because maintenance mode refuses sign-ins too.
    if (entry.status === 401) token = await signIn().catch(() => token)
    await delay(entry.status < 300 ? 10 : 40)
  }
}

function entryOf(node: string, begun: number, { status, headers }: Answer): Entry {
  const retryAfter = Number(headers['retry-after'])
  return { node, begun, ended: performance.now(), status, retryAfter }
}

/** Runs a payment provider that sends one notification after another, and repeats each until it is accepted. */
export function keepNotices(node: string, service: Service, tenantId: number): Ledger {
  const entries: Entry[] = []
  const send = senderTo(service)
  const state = { isOver: false }
  const sending = (async () => {
    for (let turn = 0; !state.isOver; turn += 1) {
      const metadata = { tenant_id: String(tenantId) }
      const notice = cardnetNotice('succeeded', { id: `pay_${node}_${turn}`, metadata })
      for (;;) {
        const begun = performance.now()
        const answer = await send(notice)
        const row = { table: 'payment_notifications', id: notice.id, value: notice.type }
        entries.push({ ...entryOf(node, begun, answer), row })
        await delay(20)
        if (answer.status === 200) break
      }
    }
  })()
  return {
    entries,
    async stop() {
      state.isOver = true
      await sending
    },
  }
}

/** The time during which the service was in maintenance mode, according to the database locks. */
export interface MaintenancePeriod {
  /** When the maintenance lock was first seen. Maintenance mode began then, or earlier. */
  first: number
  /** When the maintenance lock was last seen. Maintenance mode ended then, or later. */
  last: number
}

/** Polls the lock until it is stopped. */
export async function watchMaintenance(url: string) {
  const client = new pg.Client(url)
  await client.connect()
  const seen: MaintenancePeriod = {
    first: Number.POSITIVE_INFINITY,
    last: Number.NEGATIVE_INFINITY,
  }
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const asked = performance.now()
      const { rowCount } = await client.query(
        `select from pg_locks where locktype = 'advisory' and classid = $1 and granted
         and ${OF_THIS_DATABASE}`,
        [LOCKS.maintenance],
      )
      if (rowCount) {
        seen.first = Math.min(seen.first, performance.now())
        seen.last = asked
      }
      await delay(5)
    }
  })()
  return {
    seen,
    async stop(): Promise<MaintenancePeriod> {
      isOver = true
      await watching
      await client.end()
      return seen
    },
  }
}
