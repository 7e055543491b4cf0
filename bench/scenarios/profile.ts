/** The caller's profile, compared with a bare Fastify route with the same body. */

import { openBaseline } from '../baselines/baseline.ts'
import { compare } from '../measure/compare.ts'
import { drive } from '../measure/load.ts'
import { cpuSeconds } from '../measure/process.ts'
import { perSecond } from '../measure/table.ts'
import { emailOf, PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { signIn } from '../service.ts'
import { CONNECTIONS, type Scenario } from './scenario.ts'

export const profile: Scenario = async (environment, pace, say) => {
  const { service } = await environment.deployment('large')
  const { access_token } = await signIn(service.url, emailOf(1, 2), PASSWORD, subdomainOf(1))
  const headers = { authorization: `Bearer ${access_token}` }
  const body = await (await fetch(`${service.url}/api/users/me`, { headers })).json()
  const baseline = openBaseline(new URL('../baselines/bare-route.ts', import.meta.url))
  try {
    const bare = await baseline.ask<string>({ body })
    const get = (base: string) => (seconds: number) =>
      drive({ url: `${base}/api/users/me`, connections: CONNECTIONS, seconds, headers })
    const outcome = await compare(get(service.url), get(bare), pace)
    // CPU time beside the rates, because the load generator takes its share of the machine from both.
    const cost = async (name: string, base: string, pid: number) => {
      const before = cpuSeconds(pid)
      const answered = (await get(base)(pace.seconds)) * pace.seconds
      const each = ((cpuSeconds(pid) - before) / answered) * 1e6
      say(`profile: ${name} takes ${each.toFixed(0)} µs of a processor a request`)
    }
    await cost('the service', service.url, service.pid)
    await cost('the bare route', bare, baseline.pid)
    return [
      {
        name: 'profile, against a bare route',
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        ratio: outcome.ratio,
        aim: { atLeast: 0.6 },
      },
    ]
  } finally {
    baseline.stop()
  }
}
