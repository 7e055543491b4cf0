/** Writers that go on while a restore closes the service, and a ledger of all that they were told. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { LOCKS } from '../../src/platform/db/lock-numbers.ts'
import { senderTo } from '../payments/scene.ts'
import { OF_THIS_DATABASE } from '../support/database.ts'
import { cardnetNotice } from '../support/payments.ts'
import type { Answer, Service } from '../support/service.ts'

/** What somebody wrote, and what they were told. Times are those of `performance.now()`. */
export interface Entry {
  node: string
  begun: number
  ended: number
  status: number
  retryAfter: number
  /** The row that it is about, and what that holds then; nothing where nothing is written. */
  row?: { table: string; id: string; value: string }
}

export interface Ledger {
  entries: Entry[]
  /** Ends the writers, once the caller has seen enough. */
  stop(): Promise<void>
}

/** A request of a writer. `row` is told of its answer where it is a 2xx. */
export interface Request {
  method: string
  path: string
  body?: object
  row?(answer: any): NonNullable<Entry['row']>
}

export interface Writer {
  node: string
  service: Service
  /** Signs in anew: a restore ends every session. */
  signIn(): Promise<string>
  /** What it does next. */
  next(turn: number): Request
}

/** Each goes on, one request behind the other, until it is stopped. */
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
    // Closed for all, also to who signs in.
    if (entry.status === 401) token = await signIn().catch(() => token)
    await delay(entry.status < 300 ? 10 : 40)
  }
}

function entryOf(node: string, begun: number, { status, headers }: Answer): Entry {
  const retryAfter = Number(headers['retry-after'])
  return { node, begun, ended: performance.now(), status, retryAfter }
}

/** A provider that sends notice after notice, each until it is taken. */
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

/** When the service was closed, as the database's locks say it. */
export interface Closing {
  /** When it was seen closed for the first time: at its closing, or later. */
  first: number
  /** When it was seen closed for the last time: at its opening, or before. */
  last: number
}

/** Looks until it is stopped. */
export async function watchClosing(url: string) {
  const client = new pg.Client(url)
  await client.connect()
  const seen: Closing = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY }
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const asked = performance.now()
      const { rowCount } = await client.query(
        `select from pg_locks where locktype = 'advisory' and classid = $1 and granted
         and ${OF_THIS_DATABASE}`,
        [LOCKS.closed],
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
    async stop(): Promise<Closing> {
      isOver = true
      await watching
      await client.end()
      return seen
    },
  }
}
