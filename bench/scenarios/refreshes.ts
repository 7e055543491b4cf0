/** Refreshes of a session, compared with one update and one insert in a transaction. */

import { openBaseline } from '../baselines/baseline.ts'
import { compare } from '../measure/compare.ts'
import { drive } from '../measure/load.ts'
import { perSecond } from '../measure/table.ts'
import { emailOf, PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { signIn } from '../service.ts'
import { CONNECTIONS, POOL_SIZE, type Scenario } from './scenario.ts'

export const refreshes: Scenario = async (environment, pace) => {
  const { service, database, size } = await environment.deployment('large')

  /** Creates sessions of this many users in many tenants. Each response contains the next refresh token. */
  async function freshTokens(): Promise<string[]> {
    const signedIn = Array.from({ length: CONNECTIONS }, (_, tenant) => {
      const clinic = tenant % size.tenants
      return signIn(service.url, emailOf(clinic, 2), PASSWORD, subdomainOf(clinic))
    })
    return (await Promise.all(signedIn)).map(({ refresh_token }) => refresh_token)
  }

  const baseline = openBaseline(new URL('../baselines/pg-rotation.ts', import.meta.url))
  try {
    const outcome = await compare(
      async (seconds) => {
        // The end of a turn may abort a refresh that used its token, so each turn starts with new tokens.
        const tokens = await freshTokens()
        return drive({
          url: service.url,
          connections: CONNECTIONS,
          seconds,
          request: {
            method: 'POST',
            path: '/api/auth/refresh',
            headers: { 'content-type': 'application/json' },
            setupRequest: (request) => ({
              ...request,
              body: JSON.stringify({ refresh_token: tokens.shift() }),
            }),
            onResponse: (_status, body) => void tokens.push(JSON.parse(body).refresh_token),
          },
        })
      },
      (seconds) =>
        baseline.ask<number>({ database, poolSize: POOL_SIZE, atOnce: CONNECTIONS, seconds }),
      pace,
    )
    return [
      {
        name: 'refresh, against an update and an insert',
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        ratio: outcome.ratio,
        aim: { atLeast: 0.4 },
      },
    ]
  } finally {
    baseline.stop()
  }
}
