/**
 * A flood from one address, and its effect on others: whether the service responds, how long its event loop is blocked,
 * and how long a sign-in from another address takes.
 */
import { Agent, request } from 'undici'
import { openBaseline } from '../baselines/baseline.ts'
import type { Flood, Sent } from '../baselines/flooder.ts'
import type { SocketFlood, SocketFlooded, SocketFloodName } from '../baselines/socket-flooder.ts'
import { type Answers, othersThan, shown } from '../measure/answers.ts'
import { atABeat, type Beat } from '../measure/beat.ts'
import { longestHold } from '../measure/event-loop.ts'
import { peakMb, residentMb } from '../measure/process.ts'
import { percentile } from '../measure/statistics.ts'
import type { Line } from '../measure/table.ts'
import { AUDITORS } from '../seed/people.ts'
import { emailOf, PASSWORD, type Size, subdomainOf } from '../seed/sizes.ts'
import type { Service } from '../service.ts'
import { deepPages, fullPreferences, fullSignIns, passwordResets, wrongSignIns } from './floods.ts'
import type { Scenario } from './scenario.ts'

const CONNECTIONS = 48
/** The length of a flood, in turns. */
const LONGER = 6
const HEALTH_EVERY_MS = 20
const SIGN_IN_EVERY_MS = 125
const METRICS_EVERY_MS = 1000

const HEALTH_LIMIT_MS = 100
const HOLD_LIMIT_MS = 50
const SLOWER_LIMIT = 4
/** The memory that a flood may add to the service, in MB. */
const GROWTH_LIMIT_MB = 150

/** The clinic of the affected users, which is not that of the flood's callers. Each user has a separate address. */
const VICTIMS_CLINIC = 1
const FIRST_VICTIM = AUDITORS + 1
const VICTIMS = 8
const victims = Array.from({ length: VICTIMS }, (_, place) => ({
  email: emailOf(VICTIMS_CLINIC, FIRST_VICTIM + place),
  address: `127.0.1.${1 + place}`,
}))

const FLOODS: {
  of: string
  address: string
  requests: (url: string, victims: readonly string[], size: Size) => Promise<Sent[]>
}[] = [
  { of: 'sign-ins at the limit of a body', address: '127.0.2.1', requests: fullSignIns },
  { of: 'preferences at that limit', address: '127.0.2.5', requests: fullPreferences },
  { of: 'wrong sign-ins', address: '127.0.2.2', requests: wrongSignIns },
  { of: 'deep pages', address: '127.0.2.3', requests: deepPages },
  { of: 'password resets', address: '127.0.2.4', requests: passwordResets },
]

const SOCKET_FLOODS: readonly SocketFloodName[] = [
  'requests in a row whose answers nobody reads',
  'bodies in single bytes',
  'notifications that are finished at one moment',
]

/** The acceptable statuses of responses to the flood itself, besides 2xx. */
const REFUSALS = [401, 403, 413, 422, 429, 503]
const isOk = (status: number) => status >= 200 && status < 300

/** The effects that other users observe for this many seconds. */
interface Notice {
  health: Beat
  signIns: Beat
  longestHoldMs: number
}

export const flood: Scenario = async (environment, pace, say) => {
  const { service, size } = await environment.deployment('crowded')
  const seconds = pace.seconds * LONGER
  const others = openOthers(service)
  const flooder = openBaseline(new URL('../baselines/flooder.ts', import.meta.url))
  const emails = victims.map(({ email }) => email)
  const lines: Line[] = []
  try {
    // The first sign-ins compile code and make each victim's address known.
    await others.notice(pace.seconds)
    const idle = await others.notice(seconds)
    for (const { of, address, requests } of FLOODS) {
      const sent = await requests(service.url, emails, size)
      const question: Flood = {
        url: service.url,
        address,
        connections: CONNECTIONS,
        seconds,
        requests: sent,
      }
      await longestHold(service.metricsUrl)
      const [answers, noticed] = await Promise.all([
        flooder.ask<Answers>(question),
        others.notice(seconds),
      ])
      say(`flood of ${of}: it was answered ${shown(answers)}`)
      say(`flood of ${of}: sign-ins from elsewhere ${shown(noticed.signIns.answers)}`)
      lines.push(...linesOf(`flood of ${of}`, answers, noticed, idle))
    }
    lines.push(...(await socketFloods(service, { seconds, others, idle, say })))
  } finally {
    flooder.stop()
    await others.close()
  }
  return lines
}

interface Flooding {
  seconds: number
  others: ReturnType<typeof openOthers>
  idle: Notice
  say: (what: string) => void
}

/** Runs the floods of raw connections, and measures how much memory they make the service use. */
async function socketFloods(service: Service, flooding: Flooding): Promise<Line[]> {
  const { seconds, others, idle, say } = flooding
  const flooder = openBaseline(new URL('../baselines/socket-flooder.ts', import.meta.url))
  const lines: Line[] = []
  try {
    for (const [index, name] of SOCKET_FLOODS.entries()) {
      const { url } = service
      const question: SocketFlood = { url, address: `127.0.2.${11 + index}`, name, seconds }
      await longestHold(service.metricsUrl)
      const before = residentMb(service.pid)
      let noticed: Notice | undefined
      const peak = await peakMb(service.pid, async () => {
        const flooded = flooder.ask<SocketFlooded>(question)
        noticed = await others.notice(seconds)
        say(`flood of ${name}: ${(await flooded).opened} connections`)
      })
      if (!noticed) throw new Error('nobody noticed the flood')
      lines.push(...linesOf(`flood of ${name}`, {}, noticed, idle), {
        name: `flood of ${name}: growth of memory`,
        ours: `${(peak - before).toFixed(0)} MB`,
        limit: `${GROWTH_LIMIT_MB} MB`,
        ratio: (peak - before) / GROWTH_LIMIT_MB,
        aim: { atMost: 1 },
      })
    }
  } finally {
    flooder.stop()
  }
  return lines
}

function linesOf(name: string, answers: Answers, noticed: Notice, idle: Notice): Line[] {
  const { health, signIns, longestHoldMs } = noticed
  const healthMs = percentile(health.ms, 0.99)
  const [signInMs, idleMs] = [percentile(signIns.ms, 0.95), percentile(idle.signIns.ms, 0.95)]
  const wrong =
    othersThan(answers, (status) => isOk(status) || REFUSALS.includes(status)) +
    othersThan(health.answers, isOk) +
    othersThan(signIns.answers, isOk)
  return [
    {
      name: `${name}: /healthz`,
      ours: `p99 ${healthMs.toFixed(1)} ms`,
      limit: `${HEALTH_LIMIT_MS} ms`,
      ratio: healthMs / HEALTH_LIMIT_MS,
      aim: { atMost: 1 },
    },
    {
      name: `${name}: longest hold of the event loop`,
      ours: `${longestHoldMs.toFixed(1)} ms`,
      limit: `${HOLD_LIMIT_MS} ms`,
      ratio: longestHoldMs / HOLD_LIMIT_MS,
      aim: { atMost: 1 },
    },
    {
      name: `${name}: a sign-in from elsewhere`,
      ours: `p95 ${signInMs.toFixed(1)} ms`,
      limit: `p95 ${idleMs.toFixed(1)} ms idle`,
      ratio: signInMs / idleMs,
      aim: { atMost: SLOWER_LIMIT },
    },
    {
      name: `${name}: answers that must not be`,
      ours: `${wrong}`,
      limit: '0',
      ratio: wrong,
      aim: { atMost: 0 },
    },
  ]
}

/** Prepares the users who are affected by a flood, each with a separate address. */
function openOthers({ url, metricsUrl }: Service) {
  const probe = new Agent()
  const agents = victims.map(({ address }) => new Agent({ localAddress: address }))

  async function call(path: string, options: Parameters<typeof request>[1]): Promise<number> {
    const { statusCode, body } = await request(url + path, options)
    await body.dump()
    return statusCode
  }
  const signIn = (turn: number) => {
    const place = turn % VICTIMS
    const credentials = {
      email: victims[place]?.email,
      password: PASSWORD,
      subdomain: subdomainOf(VICTIMS_CLINIC),
    }
    return call('/api/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(credentials),
      dispatcher: agents[place] as Agent,
    })
  }

  return {
    async notice(seconds: number): Promise<Notice> {
      const holds: number[] = []
      const [health, signIns] = await Promise.all([
        atABeat(HEALTH_EVERY_MS, seconds, () => call('/healthz', { dispatcher: probe })),
        atABeat(SIGN_IN_EVERY_MS, seconds, signIn),
        atABeat(METRICS_EVERY_MS, seconds, async () => {
          holds.push(await longestHold(metricsUrl))
          return 200
        }),
      ])
      holds.push(await longestHold(metricsUrl))
      return { health, signIns, longestHoldMs: Math.max(...holds) }
    },
    async close() {
      await Promise.all([probe, ...agents].map((agent) => agent.close()))
    },
  }
}
