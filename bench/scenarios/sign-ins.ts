/** Sign-ins, compared with the password checks that each sign-in needs. */
import { availableParallelism } from 'node:os'
import { hash } from '@node-rs/argon2'
import { openBaseline } from '../baselines/baseline.ts'
import { compare } from '../measure/compare.ts'
import { drive } from '../measure/load.ts'
import { perSecond } from '../measure/table.ts'
import { emailOf, PASSWORD, PASSWORD_COST, subdomainOf } from '../seed/sizes.ts'
import { CONNECTIONS, type Scenario } from './scenario.ts'

/** The users of a tenant who are never blocked, except its admin and auditors. */
const FIRST_USER = 2
const LAST_USER = 99
/** The number of concurrent checks, as in the service: one per processor. */
const AT_ONCE = availableParallelism()
/** A sign-in takes some 50 ms of a processor, so a turn of a few seconds would contain too few sign-ins. */
const LONGER = 3

export const signIns: Scenario = async (environment, pace) => {
  const { service, size } = await environment.deployment('large')
  let turn = 0
  const credentials = () => {
    turn += 1
    const tenant = turn % size.tenants
    const user = FIRST_USER + (Math.floor(turn / size.tenants) % (LAST_USER - FIRST_USER))
    return {
      email: emailOf(tenant, user),
      password: PASSWORD,
      subdomain: subdomainOf(tenant),
    }
  }
  const baseline = openBaseline(new URL('../baselines/argon2-verify.ts', import.meta.url))
  const stored = await hash(PASSWORD, PASSWORD_COST)
  try {
    const outcome = await compare(
      (seconds) =>
        drive({
          url: service.url,
          connections: CONNECTIONS,
          seconds,
          request: {
            method: 'POST',
            path: '/api/auth/login',
            headers: { 'content-type': 'application/json' },
            setupRequest: (request) => ({ ...request, body: JSON.stringify(credentials()) }),
          },
        }),
      (seconds) =>
        baseline.ask<number>({ hash: stored, password: PASSWORD, atOnce: AT_ONCE, seconds }),
      { ...pace, seconds: pace.seconds * LONGER },
    )
    return [
      {
        name: 'sign-in, against argon2 alone',
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        ratio: outcome.ratio,
        aim: { atLeast: 0.8 },
      },
    ]
  } finally {
    baseline.stop()
  }
}
