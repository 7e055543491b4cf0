/** Sets up the webhook fault tests: twenty receivers, worker processes and a large number of events. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, inject, onTestFinished } from 'vitest'
import { messageId } from '../../../src/features/webhooks/events/message.ts'
import { newWebhookSecret } from '../../../src/features/webhooks/sending/signature.ts'
import { append, SYSTEM } from '../../../src/platform/journal/index.ts'
import { parseNetworks } from '../../../src/platform/net/index.ts'
import { makeClinic, superadmin } from '../../support/clinics.ts'
import type { TestDatabase } from '../../support/database.ts'
import { type Command, command, PLAIN } from '../../support/process.ts'
import { scratch } from '../../support/scratch.ts'
import { openService, ROOT_KEY, type Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { type Account, BEHAVIOURS, type Question } from './receivers.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The size of the run. It is `full` in `npm run chaos`. */
    chaos: 'short' | 'full'
  }
}

const LENGTHS = {
  short: { events: 1_200, kills: 3, restarts: 1 },
  full: { events: 10_000, kills: 10, restarts: 3 },
}

/** The numbers of events, worker kills and database restarts of the run. */
export const { events: EVENTS, kills: KILLS, restarts: RESTARTS } = LENGTHS[inject('chaos')]
/** Events per transaction. */
const TOGETHER = 20
const PATIENCE_MS = 240_000

export interface Scene {
  service: Service
  tenantId: number
  /** Publishes events, several per transaction. Continues after an outage of the database. */
  publish(count: number): Promise<void>
  /** Counts the messages that the healthy receivers have accepted. */
  taken(): Promise<number>
  startWorker(): Promise<Command>
  /** Waits until every event has reached every healthy receiver, and checks that no event was lost. */
  settle(workers: readonly Command[]): Promise<void>
}

export async function openScene(database: TestDatabase): Promise<Scene> {
  const config = {
    WEBHOOK_ALLOW_HTTP: true,
    WEBHOOK_ALLOWED_NETWORKS: parseNetworks('127.0.0.0/8'),
  }
  const service = await openService({ database, config })
  const clinic = await makeClinic(service, await superadmin(service), 'chaos')
  const secret = newWebhookSecret()
  const { receivers, ports } = await startReceivers(secret)
  const { token } = clinic.people.admin
  for (const port of ports) {
    const body = {
      url: `http://127.0.0.1:${port}/`,
      events: ['department.updated'],
      secret,
    }
    const answer = await service.call('POST', '/api/webhooks/register', { token, body })
    expect(answer.status).toBe(201)
  }
  const dataDir = await scratch()

  const ask = async (question: Question): Promise<Account[]> => {
    const answered = once(receivers, 'message')
    receivers.send(question)
    return (await answered)[0]
  }
  const healthy = (accounts: Account[]) =>
    accounts.filter((_, index) => BEHAVIOURS[index] === 'healthy')

  async function publishSome(): Promise<void> {
    const entry = {
      action: 'department.updated',
      tenant_id: clinic.id,
      resource_type: 'department',
      resource_id: clinic.departmentId,
      changes: { before: { name: 'Ward' }, after: { name: 'Ward A' } },
    } as const
    await service.app.db.inTenant(clinic.id, async (tx) => {
      for (let made = 0; made < TOGETHER; made += 1) await append(tx, SYSTEM, entry)
    })
  }

  const published = () =>
    database.sql<{ id: number; created_at: string }>(
      "select id, created_at from journal where action = 'department.updated' and tenant_id = $1",
      [clinic.id],
    )

  return {
    service,
    tenantId: clinic.id,
    async publish(count) {
      for (let made = 0; made < count; made += TOGETHER)
        await until('events are published', () => publishSome().then(() => true), 60_000)
    },
    async taken() {
      return healthy(await ask({ about: 'count' })).reduce((sum, { taken }) => sum + taken, 0)
    },
    async startWorker() {
      const worker = command(['start', '--role', 'worker'], {
        ...PLAIN,
        DATABASE_URL: database.url,
        DATA_DIR: dataDir,
        ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
        WEBHOOK_ALLOW_HTTP: 'true',
        WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      })
      const isWorking = () => worker.stdout().includes('background work started') || undefined
      await until('a worker is at work', isWorking, 60_000)
      return worker
    },
    async settle(workers) {
      const ids = (await published()).map((entry) => messageId(entry))
      expect(ids.length).toBeGreaterThanOrEqual(EVENTS)
      const accounts = await until(
        'every event has reached every healthy receiver',
        async () => {
          const told = await ask({ about: 'missing', ids })
          return healthy(told).every(({ missing }) => missing === 0) ? told : undefined
        },
        PATIENCE_MS,
      )
      expect(accounts.flatMap(({ wrong }) => wrong)).toEqual([])
      expect(healthy(accounts).map(({ distinct }) => distinct)).toEqual(
        healthy(accounts).map(() => ids.length),
      )

      // Checks that no event was lost: each event has a delivery for each webhook, and no delivery has failed.
      const kept = await database.sql<{ deliveries: number; failed: number }>(
        `select count(*) as deliveries, count(*) filter (where status = 'failed') as failed
         from webhook_deliveries where event = 'department.updated' group by webhook_id`,
      )
      expect(kept).toEqual(BEHAVIOURS.map(() => ({ deliveries: ids.length, failed: 0 })))
      // Checks that each completed delivery has a successful attempt.
      const [unproven] = await database.sql<{ count: number }>(
        `select count(*) as count from webhook_deliveries d where status = 'delivered'
           and not exists (select from webhook_attempts a where a.webhook_id = d.webhook_id
             and a.entry_id = d.entry_id and a.error is null)`,
      )
      expect(unproven?.count).toBe(0)

      for (const worker of workers) worker.signal('SIGTERM')
      for (const worker of workers) expect((await worker.ended).code).toBe(0)
      // Checks that all leases end, including those of killed processes, which expire.
      await until('no lease is left', async () => {
        const left = await database.sql(
          'select webhook_id from webhook_queues where leased_until > now()',
        )
        return left.length === 0 || undefined
      })
    },
  }
}

async function startReceivers(
  secret: string,
): Promise<{ receivers: ChildProcess; ports: number[] }> {
  const receivers = fork(join(import.meta.dirname, 'receivers.ts'), [secret], {
    serialization: 'advanced',
  })
  onTestFinished(async () => {
    receivers.kill()
    await once(receivers, 'exit')
  })
  const [ports] = (await once(receivers, 'message')) as [number[]]
  return { receivers, ports }
}
