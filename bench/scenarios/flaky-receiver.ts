/** A backlog of events for a receiver that fails occasionally, compared with a loop that never pauses. */
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { openBaseline } from '../baselines/baseline.ts'
import type { Question } from '../baselines/flaky-receiver.ts'
import { type Contender, compare } from '../measure/compare.ts'
import { perSecond } from '../measure/table.ts'
import { ownerOf, startService } from '../service.ts'
import { makeClinics } from './clinics.ts'
import { openPublisher } from './publisher.ts'
import type { Scenario } from './scenario.ts'
import { AT_ONCE, EVENT, SETTINGS } from './webhooks.ts'

/** The receiver's delay in milliseconds. Long enough that the delay is the limit, not the processor. */
const ANSWER_MS = 20
/** A turn is longer than the wait before a retry. */
const LONGER = 5
const PER_SECOND = (AT_ONCE * 1000) / ANSWER_MS

export const flakyReceiver: Scenario = async (environment, pace) => {
  const folder = environment.emptyFolder()
  const service = await startService(folder, SETTINGS)
  const receiver = openBaseline(new URL('../baselines/flaky-receiver.ts', import.meta.url))
  const loop = openBaseline(new URL('../baselines/undici-loop.ts', import.meta.url))
  const ask = <A>(question: Question) => receiver.ask<A>(question)
  const open = () => ask<string>({ what: 'open', answerMs: ANSWER_MS })
  const takenBy = (url: string) => ask<number>({ what: 'taken', url })
  try {
    // Creates a clinic and a receiver for each turn and the warm-up, so that no turn starts with undelivered messages.
    const urls: string[] = []
    while (urls.length <= pace.rounds) urls.push(await open())
    const tenants = await makeClinics(service.url, urls.length, urls, EVENT)
    let turn = -1

    const deliver: Contender = async (seconds) => {
      turn += 1
      const publisher = openPublisher(ownerOf(folder), tenants.slice(turn, turn + 1))
      // Publishes more events than the loop can send, so that there is always a next message.
      const [published] = await Promise.all([
        publisher.atOnce(Math.ceil(seconds * PER_SECOND)),
        delay(seconds * 1000),
      ])
      const taken = await takenBy(urls[turn] ?? '')
      await publisher.close()
      if (taken === 0) throw new Error(`of ${published.length} messages none has come`)
      return taken / seconds
    }
    const post: Contender = async (seconds) => {
      const url = await open()
      await loop.ask({ url, atOnce: AT_ONCE, seconds })
      return (await takenBy(url)) / seconds
    }
    const outcome = await compare(deliver, post, { ...pace, seconds: pace.seconds * LONGER })
    return [
      {
        name: 'webhooks to a receiver that fails every third, against a loop without pauses',
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        ratio: outcome.ratio,
        aim: { atLeast: 0.5 },
      },
    ]
  } finally {
    loop.stop()
    receiver.stop()
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
