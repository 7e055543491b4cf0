/**
 * Webhooks in two phases: the delivery rate of a backlog, compared with the same POSTs through undici alone, and the
 * delivery time at half of that rate. Afterwards every receiver is checked for every message.
 */
import { rm } from 'node:fs/promises'
import { openBaseline } from '../baselines/baseline.ts'
import { sharedMs } from '../measure/clock.ts'
import { type Contender, compare } from '../measure/compare.ts'
import { cpuSeconds } from '../measure/process.ts'
import { percentile } from '../measure/statistics.ts'
import { perSecond } from '../measure/table.ts'
import { ownerOf, startService } from '../service.ts'
import { makeClinics } from './clinics.ts'
import { openPublisher, type Published } from './publisher.ts'
import { openReceivers } from './receivers.ts'
import type { Scenario } from './scenario.ts'

const TENANTS = 4
/** The number of webhooks of each tenant; all subscribe to every event. */
const EACH = 5
export const EVENT = 'department.updated'
/** The service's limit of concurrent messages to one receiver, which the baseline uses too. */
export const AT_ONCE = 16
/** The number of deliveries in a turn, for each of its seconds: more than can be sent in a second. */
const PER_SECOND = 20_000
/** The length of the second phase, in turns. */
const LONGER = 5
const LIMIT_MS = 25

export const SETTINGS = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' }

export const webhooks: Scenario = async (environment, pace, say) => {
  const folder = environment.emptyFolder()
  const service = await startService(folder, SETTINGS)
  const receivers = await openReceivers(TENANTS * EACH)
  const baseline = openBaseline(new URL('../baselines/undici-posts.ts', import.meta.url))
  try {
    const { urls } = receivers
    const tenants = await makeClinics(service.url, TENANTS, urls, EVENT)
    const owners = urls.map((_, place) => tenants[place % TENANTS] ?? 0)
    const publisher = openPublisher(ownerOf(folder), tenants)
    const backlog: Published[] = []

    const deliver = async (messages: number) => {
      const start = sharedMs()
      backlog.push(...(await publisher.atOnce(messages / EACH)))
      return (messages / ((await receivers.wait(messages)) - start)) * 1000
    }
    const post = async (messages: number) => {
      const { headers, body } = await receivers.sample()
      const rate = await baseline.ask<number>({ urls, headers, body, atOnce: AT_ONCE, messages })
      await receivers.wait(messages)
      return rate
    }
    /** Adds the CPU time of a turn, because the rate alone is less meaningful when other programs use the machine. */
    const costed =
      (who: string, pid: number, send: (messages: number) => Promise<number>): Contender =>
      async (seconds) => {
        const messages = seconds * PER_SECOND
        const before = cpuSeconds(pid)
        const rate = await send(messages)
        const each = ((cpuSeconds(pid) - before) / messages) * 1e6
        say(`webhooks: ${who} takes ${each.toFixed(0)} µs of a processor a message`)
        return rate
      }
    const outcome = await compare(
      costed('the service', service.pid, deliver),
      costed('bare undici', baseline.pid, post),
      pace,
    )

    const half = outcome.ours / 2
    say(`webhooks: ${perSecond(half)}`)
    const seconds = pace.seconds * LONGER
    const paced = await publisher.evenly(Math.round((half * seconds) / EACH), seconds)
    await receivers.wait(paced.length * EACH)
    await publisher.close()

    // Queried at the end, so that later repetitions are counted too.
    const found = await receivers.find([...backlog, ...paced], owners)
    if (found.lost > 0) throw new Error(`${found.lost} deliveries are lost`)
    const { ms } = await receivers.find(paced, owners)
    return [backlogRow(outcome), pacedRow(half, ms), lossRow(found)]
  } finally {
    baseline.stop()
    receivers.stop()
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

const backlogRow = ({ ours, baseline, ratio }: Awaited<ReturnType<typeof compare>>) => ({
  name: 'webhooks, a backlog, against bare undici',
  ours: perSecond(ours),
  limit: perSecond(baseline),
  ratio,
  aim: { atLeast: 0.4 },
})

/** @param ms the milliseconds from commit to arrival of each message at this rate */
function pacedRow(rate: number, ms: number[]) {
  const p50 = percentile(ms, 0.5)
  return {
    name: `webhooks at ${perSecond(rate)}, from commit to arrival`,
    ours: `p50 ${p50.toFixed(1)} ms, p99 ${percentile(ms, 0.99).toFixed(1)} ms`,
    limit: `p50 ${LIMIT_MS} ms`,
    ratio: p50 / LIMIT_MS,
    aim: { atMost: 1 },
  }
}

const lossRow = ({ ms, lost, repeated }: { ms: number[]; lost: number; repeated: number }) => ({
  name: `webhooks, of ${ms.length.toLocaleString('en-US')} deliveries`,
  ours: `${lost} lost, ${repeated} twice`,
  limit: '0 lost',
  ratio: lost,
  aim: { atMost: 0 },
})
