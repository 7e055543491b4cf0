/**
 * Payment notifications: how many per second are accepted, each distinct, signed and answered after its commit,
 * compared with one insert and commit each of the same bytes. Also measures repeats, the rate of applied ones, and the
 * times at half of that load.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { Agent, request } from 'undici'
import { openBaseline } from '../baselines/baseline.ts'
import { compare } from '../measure/compare.ts'
import { drive } from '../measure/load.ts'
import { type Outcome, percentile } from '../measure/statistics.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { ownerOf, startService } from '../service.ts'
import { paced } from './paced-notices.ts'
import { CONNECTIONS, POOL_SIZE, type Scenario } from './scenario.ts'

const SECRET = 'bench: a secret of cardnet'
const NOTICE_BYTES = 1024
const APPLIED = 20_000
/**
 * The notifications to sign before a turn, for each of its seconds. Signing is the provider's work, so it is not
 * measured.
 */
const SIGNED_A_SECOND = 4_000
/** The phase at half of the load lasts as long as this many turns. */
const LONGER = 5

interface Notice {
  /** The id of the event and of its payment. */
  id: string
  body: string
  signature: string
}

/** Creates a notification of a new event and payment, as long as real ones, signed now. */
function notice(tenant: number, id: string = randomUUID()): Notice {
  const object = { id, amount: 1000, currency: 'EUR', metadata: { tenant_id: tenant } }
  const said = { id, type: 'payment.succeeded', created: 1, data: { object }, note: '' }
  const note = 'x'.repeat(NOTICE_BYTES - JSON.stringify(said).length)
  const body = JSON.stringify({ ...said, note })
  const t = Math.floor(Date.now() / 1000)
  const v1 = createHmac('sha256', SECRET).update(`${t}.${body}`).digest('hex')
  return { id, body, signature: `t=${t},v1=${v1}` }
}

const signed = (tenant: number, count: number): Notice[] =>
  Array.from({ length: count }, () => notice(tenant))

export const payments: Scenario = async (environment, pace, say) => {
  const folder = environment.emptyFolder()
  const service = await startService(folder, { CARDNET_WEBHOOK_SECRET: SECRET })
  const database = ownerOf(folder)
  const owner = new pg.Client(database)
  const baseline = openBaseline(new URL('../baselines/pg-inserts.ts', import.meta.url))
  try {
    await owner.connect()
    const [{ id: tenant }] = (await owner.query('select id from tenants where is_platform')).rows
    const count = async (where: string) =>
      (await owner.query(`select count(*)::int as n from payment_notifications where ${where}`))
        .rows[0].n as number
    const settled = async () => {
      while ((await count("state = 'received'")) > 0) await delay(50)
    }
    const send = (make: () => Notice, seconds: number) =>
      drive({
        url: service.url,
        connections: CONNECTIONS,
        seconds,
        request: {
          method: 'POST',
          path: '/webhooks/cardnet',
          setupRequest: (request) => {
            const { body, signature } = make()
            return { ...request, body, headers: { 'cardnet-signature': signature } }
          },
        },
      })
    const insert = (seconds: number) =>
      baseline.ask<number>({
        database,
        poolSize: POOL_SIZE,
        bytes: NOTICE_BYTES,
        atOnce: CONNECTIONS,
        seconds,
      })

    const accept = (seconds: number) => {
      const ready = signed(tenant, Math.ceil(seconds * SIGNED_A_SECOND))
      return send(() => ready.pop() ?? notice(tenant), seconds)
    }
    const accepted = await compare(accept, insert, pace)
    await settled()
    say(`payments: ${perSecond(accepted.ours)} accepted, now the repeats`)
    const again = notice(tenant, 'evt_again')
    const repeats = await send(() => again, pace.seconds)
    await settled()
    say(`payments: now at ${perSecond(accepted.ours / 2)}`)
    const half = await paced({
      url: service.url,
      database,
      make: () => notice(tenant),
      rate: accepted.ours / 2,
      seconds: pace.seconds * LONGER,
    })
    await settled()
    say('payments: now from the first notice to the last payment')
    const applied = await applyMany(service.url, signed(tenant, APPLIED), count)
    const failed = await count("state not in ('applied', 'superseded')")
    if (failed > 0) throw new Error(`${failed} notices were not applied`)
    return linesOf({ accepted, repeats, applied, half })
  } finally {
    baseline.stop()
    await owner.end()
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

interface Measured {
  accepted: Outcome
  repeats: number
  applied: number
  half: Awaited<ReturnType<typeof paced>>
}

function linesOf({ accepted, repeats, applied, half }: Measured): Line[] {
  return [
    {
      name: 'payment notices accepted, against one insert and commit each',
      ours: perSecond(accepted.ours),
      limit: perSecond(accepted.baseline),
      ratio: accepted.ratio,
      aim: { atLeast: 0.4 },
    },
    {
      name: 'repeats of a payment notice, against distinct ones',
      ours: perSecond(repeats),
      limit: perSecond(accepted.ours),
      ratio: repeats / accepted.ours,
      aim: { atLeast: 1 },
    },
    {
      name: 'payment notices applied, against one insert and commit each',
      ours: perSecond(applied),
      limit: perSecond(accepted.baseline),
      ratio: applied / accepted.baseline,
      aim: { atLeast: 0.2 },
    },
    within('payment notices at half of that load, until 200, p99', half.answered, 0.99, 50),
    within('payment notices at half of that load, from 200 to the entry, p50', half.told, 0.5, 50),
    within(
      'payment notices at half of that load, from 200 to the entry, p99',
      half.told,
      0.99,
      250,
    ),
  ]
}

/** Returns a line for the time in milliseconds that this share of the notifications does not exceed. */
function within(name: string, ms: readonly number[], share: number, limit: number): Line {
  const value = percentile(ms, share)
  const ratio = value / limit
  return { name, ours: `${value.toFixed(1)} ms`, limit: `${limit} ms`, ratio, aim: { atMost: 1 } }
}

type Count = (where: string) => Promise<number>

/** Returns how many notifications per second are applied, from the first request to the last journal entry. */
async function applyMany(url: string, notices: readonly Notice[], count: Count): Promise<number> {
  const dispatcher = new Agent({ connections: CONNECTIONS, pipelining: 1 })
  const left = notices.values()
  const start = performance.now()
  const lane = async () => {
    for (const { body, signature } of left) {
      const headers = { 'cardnet-signature': signature }
      const options = { dispatcher, method: 'POST', headers, body } as const
      const { statusCode, body: answer } = await request(`${url}/webhooks/cardnet`, options)
      await answer.dump()
      if (statusCode !== 200) throw new Error(`a notice was answered ${statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  while ((await count("state = 'received'")) > 0) await delay(20)
  const seconds = (performance.now() - start) / 1000
  await dispatcher.close()
  return notices.length / seconds
}
