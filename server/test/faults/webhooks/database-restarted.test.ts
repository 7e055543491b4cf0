/** Kills and restarts the database server while the workers deliver events. No event is lost, and every lease ends. */
import { expect, inject, test } from 'vitest'
import { migrate } from '../../../src/platform/schema/migrate.ts'
import { databaseOn } from '../../support/database.ts'
import { postmasterPid, query, started } from '../../support/embedded.ts'
import { scratch } from '../../support/scratch.ts'
import { silentLog } from '../../support/server-address.ts'
import { until } from '../../support/until.ts'
import { EVENTS, openScene, RESTARTS } from './chaos.ts'

// The test crashes its own server, so one run with the embedded server is enough.
test.skipIf('url' in inject('server'))(
  `${EVENTS} events for twenty receivers survive database crashes (${RESTARTS} of them)`,
  {
    timeout: 480_000,
  },
  async () => {
    const dataDir = await scratch()
    const server = await started(dataDir, { max_connections: '100' })
    await migrate(server.connection, silentLog)
    const scene = await openScene(databaseOn(server.connection))
    const workers = await Promise.all([scene.startWorker(), scene.startWorker()])
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      const publishing = scene.publish(Math.ceil(EVENTS / RESTARTS))
      const before = await scene.taken()
      await until(
        'messages flow',
        async () => ((await scene.taken()) > before ? true : undefined),
        60_000,
      )
      const killed = await postmasterPid(dataDir)
      process.kill(killed, 'SIGKILL')
      await until('another server answers', async () => {
        expect(await postmasterPid(dataDir)).not.toBe(killed)
        return query(server.connection, 'select 1')
      })
      await publishing
    }
    await scene.settle(workers)
  },
)
