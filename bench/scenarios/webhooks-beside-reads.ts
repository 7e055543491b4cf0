/** A backlog of events delivered to webhooks while patient reads are journaled, compared with the backlog alone. */
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { sharedMs } from '../measure/clock.ts'
import { compare } from '../measure/compare.ts'
import { perSecond } from '../measure/table.ts'
import { ownerOf, startService } from '../service.ts'
import { makeClinics } from './clinics.ts'
import { openPublisher } from './publisher.ts'
import { openReceivers } from './receivers.ts'
import type { Scenario } from './scenario.ts'
import { EVENT, SETTINGS } from './webhooks.ts'

const TENANTS = 4
/** The number of webhooks of each tenant; all subscribe to every event. */
const EACH = 5
/** The number of deliveries in a turn, for each of its seconds. */
const PER_SECOND = 5_000
const READS_PER_SECOND = 1_000
/** The interval at which a node commits the waiting entries. */
const EVERY_MS = 5

/** The statement that journals reads in the way that a node does. */
const READS = `
  insert into journal (is_access, tenant_id, user_id, user_email, action, resource_type, resource_id, ip, request_id)
  select true, $1, 41, 'admin@clinic.example', 'patient.read', 'patient', n::text, '10.1.2.3', gen_random_uuid()
  from generate_series(1, $2::integer) n`

export const webhooksBesideReads: Scenario = async (environment, pace, say) => {
  const folder = environment.emptyFolder()
  const service = await startService(folder, SETTINGS)
  const receivers = await openReceivers(TENANTS * EACH)
  const reads = new pg.Client(ownerOf(folder))
  try {
    await reads.connect()
    const tenants = await makeClinics(service.url, TENANTS, receivers.urls, EVENT)
    const publisher = openPublisher(ownerOf(folder), tenants)
    const deliver = async (seconds: number) => {
      const messages = seconds * PER_SECOND
      const start = sharedMs()
      await publisher.atOnce(messages / EACH)
      return (messages / ((await receivers.wait(messages)) - start)) * 1000
    }
    const besideReads = async (seconds: number) => {
      const journal = journaling(reads, tenants[0] ?? 0)
      const rate = await deliver(seconds)
      say(`webhooks-beside-reads: ${perSecond(await journal.stop())} reads beside them`)
      return rate
    }
    const outcome = await compare(besideReads, deliver, pace)
    await publisher.close()
    return [
      {
        name: `webhooks, a backlog while ${READS_PER_SECOND} reads/s are journaled, against it alone`,
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        ratio: outcome.ratio,
        aim: { atLeast: 0.8 },
      },
    ]
  } finally {
    await reads.end()
    receivers.stop()
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Journals reads at a fixed rate. Returns a function that stops this and returns the reads per second. */
function journaling(client: pg.Client, tenantId: number) {
  const start = performance.now()
  let isOver = false
  let written = 0
  const secondsGone = () => (performance.now() - start) / 1000
  const running = (async () => {
    while (!isOver) {
      const due = Math.floor(secondsGone() * READS_PER_SECOND) - written
      if (due > 0) await client.query({ name: 'reads', text: READS, values: [tenantId, due] })
      written += Math.max(0, due)
      await delay(EVERY_MS)
    }
  })()
  return {
    async stop() {
      isOver = true
      await running
      return written / secondsGone()
    },
  }
}
