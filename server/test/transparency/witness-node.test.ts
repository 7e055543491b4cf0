/** The witnesses of a node: the scheduled job, and the health report. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openService } from '../support/service.ts'
import { openWitnessScene, type WitnessScene } from './witness-scene.ts'

let scene: WitnessScene

beforeAll(async () => {
  scene = await openWitnessScene()
})

beforeEach(() => scene.reset())

describe('the job', () => {
  const scheduled = async () =>
    (
      await scene.sql<{ cron: string }>(
        "select cron from pgboss.schedule where name = 'audit.witness'",
      )
    ).map(({ cron }) => cron)

  test('submits the head every 10 minutes, after the anchors, and verifies certificates', async () => {
    const config = { AUDIT_WITNESSES: [scene.one.witness] }
    const { database } = scene.service
    const node = await openService({ database, config, background: ['jobs'] })
    expect(await scheduled()).toEqual(['1-59/10 * * * *'])
    await scene.sql("insert into pgboss.job (name, policy) values ('audit.witness', 'short')")
    await node.idle('jobs')
    // The certificate of the witness is not signed by an authority that the system trusts.
    expect((await scene.failures())[0]).toMatch(/certificate/)
    await node.close()
    const without = await openService({ database, background: ['jobs'] })
    await without.idle('jobs')
    expect(await scheduled()).toEqual([])
    await without.close()
  })
})

describe('the health report', () => {
  /** Lets the service check the witnesses, and waits until it reports this. */
  const reported = async (expected: object) => {
    scene.service.clock.elapse(60_000)
    await expect
      .poll(async () => {
        const { body } = await scene.service.call('GET', '/api/admin/health', {
          token: scene.root.token,
        })
        return body.components.find(({ name }: { name: string }) => name === 'audit_witnesses')
      })
      .toMatchObject(expected)
  }

  test('shows a witness that failed for more than a day, and at once one that knows another history', async () => {
    scene.one.trusted = []
    await scene.submit()
    await reported({ state: 'ok' })
    await scene.sql(
      "update audit_witnesses set failing_since = failing_since - interval '25 hours'",
    )
    await reported({
      state: 'degraded',
      reason: expect.stringMatching(
        /^The witness witness.test\/one has not confirmed the audit log for more than a day: .+ \(HTTP 404\)\.$/,
      ),
    })
    const known = scene.two.state
    scene.two.state = { ...known, size: known.size + 50 }
    await scene.grow()
    await scene.submit()
    scene.two.state = known
    await reported({
      state: 'degraded',
      reason: expect.stringMatching(/^The witness witness.test\/two knows another history/),
      runbook: 'audit-log-finding.md',
    })
  })
})
