/** The possible benefit of a cache server: a read by primary key compared with one from Redis, both decrypted. */
import { connect } from 'node:net'
import { openBaseline } from '../baselines/baseline.ts'
import type { Question } from '../baselines/sealed-reads.ts'
import { compare } from '../measure/compare.ts'
import { perSecond } from '../measure/table.ts'
import { CONNECTIONS, POOL_SIZE, type Scenario } from './scenario.ts'

const REDIS_PORT = 6379

export const secondLevel: Scenario = async (environment, pace, say) => {
  if (!(await isThere(REDIS_PORT))) {
    say(`second-level: nobody listens on 127.0.0.1:${REDIS_PORT}; nothing is measured`)
    return []
  }
  const { database } = await environment.deployment('small')
  const baseline = openBaseline(new URL('../baselines/sealed-reads.ts', import.meta.url))
  try {
    const lineOf = async (name: string, atOnce: number) => {
      const from = (source: Question['from']) => (seconds: number) =>
        baseline.ask<number>({
          ...{ from: source, database, redisPort: REDIS_PORT },
          ...{ poolSize: POOL_SIZE, atOnce, seconds },
        } satisfies Question)
      const outcome = await compare(from('postgres'), from('redis'), pace)
      return {
        name,
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        ratio: outcome.ratio,
        // The figure has no aim, because it was only the basis of a decision.
        aim: { atLeast: 0 },
      }
    }
    return [
      await lineOf('a patient by primary key over pg, beside Redis, one at a time', 1),
      await lineOf(`the same, ${CONNECTIONS} at once`, CONNECTIONS),
    ]
  } finally {
    baseline.stop()
  }
}

function isThere(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => resolve(true))
    socket.on('error', () => resolve(false))
    socket.unref()
  })
}
