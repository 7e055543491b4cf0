/**
 * Kills worker processes with SIGKILL at random times while they deliver events. No event is lost, and every lease
 * ends.
 */
import { expect, test } from 'vitest'
import { migratedDatabase } from '../../support/database.ts'
import type { Command } from '../../support/process.ts'
import { until } from '../../support/until.ts'
import { EVENTS, KILLS, openScene } from './chaos.ts'

const WORKERS = 3

test(`${KILLS} kills of three workers while ${EVENTS} events go to twenty receivers lose nothing`, {
  timeout: 480_000,
}, async () => {
  const scene = await openScene(await migratedDatabase())
  const workers = await Promise.all(Array.from({ length: WORKERS }, scene.startWorker))
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = await scene.taken()
    const publishing = scene.publish(Math.ceil(EVENTS / KILLS))
    await until(
      'messages flow',
      async () => ((await scene.taken()) > before ? true : undefined),
      60_000,
    )
    const place = Math.floor(Math.random() * WORKERS)
    const victim = workers[place] as Command
    victim.signal('SIGKILL')
    expect((await victim.ended).signal).toBe('SIGKILL')
    workers[place] = await scene.startWorker()
    await publishing
  }
  await scene.settle(workers)
})
