/**
 * A restored copy sends nothing on any node until an operator releases the copy. Everything that waited is then sent.
 */
import { beforeAll, expect, test } from 'vitest'
import { MINUTE } from '../../src/lib/clock.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { clinicOn } from '../webhooks/clinic.ts'

let database: TestDatabase
let receiver: Receiver
let one: Service
let clinic: Clinic
/** The event of a delivery that was pending at backup time. */
let entry: number

beforeAll(async () => {
  database = await migratedDatabase()
  await database.sql('update installation set outbound_held_at = now()')
  receiver = await openReceiver()
  one = await openService({ background: ['backups', 'jobs', 'webhooks'], database })
  clinic = await makeClinic(one, await superadmin(one), 'north')
  const { register } = clinicOn(one, clinic)
  const { id } = await register({ url: receiver.url, events: ['department.*'] })
  const { token } = clinic.people.admin
  const body = { name: 'Cardiology' }
  await one.call('POST', '/api/admin/departments', { token, body })
  const [row] = await database.sql<{ id: number }>(
    `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, due_at)
     select tenant_id, $1, id, created_at, action, now() from journal
     where action = 'department.created' and tenant_id = $2 order by id desc limit 1
     returning entry_id::float8 as id`,
    [id, clinic.id],
  )
  entry = row?.id ?? 0
  await database.sql('update webhook_queues set due_at = now()')
})

const health = async ({ call }: Service) =>
  (await call('GET', '/api/admin/health', { token: clinic.people.admin.token })).body.checks
    .outbound

test('releasing a restored copy sends its pending messages with unchanged IDs, from a node that was only notified', async () => {
  const other = await openService({ database })
  expect(await health(one)).toBe('degraded')
  expect(await health(other)).toBe('degraded')
  expect(await one.app.metrics.registry.metrics()).toMatch(/^wardkeep_outbound_held 1$/m)
  // No worker has claimed the webhook queue.
  expect(await database.sql('select from webhook_queues where leased_by is not null')).toEqual([])
  expect(receiver.received).toEqual([])
  expect(await other.app.hold.release()).toBe(true)
  const [message] = await until('the message to arrive', () =>
    receiver.received.length > 0 ? receiver.received : undefined,
  )
  expect(message?.id).toMatch(new RegExp(`_${entry.toString(36)}$`))
  expect(await health(one)).toBe('ok')
  expect(await health(other)).toBe('ok')
  expect(await one.app.metrics.registry.metrics()).toMatch(/^wardkeep_outbound_held 0$/m)
  expect(await other.app.hold.release()).toBe(false)
  const { token } = await superadmin(one)
  const query = { action: 'outbound.released' }
  const entries = (await one.call('GET', '/api/admin/audit', { token, query })).body
  expect(entries).toMatchObject({
    total: 1,
    items: [
      {
        tenant_id: null,
        user_id: null,
        resource_type: 'installation',
        changes: { held_since: expect.stringMatching(/^20.*Z$/) },
      },
    ],
  })
})

test('a node that missed the notification sends messages within a minute of the release', async () => {
  const copy = await migratedDatabase()
  await copy.sql('update installation set outbound_held_at = now()')
  const { app, clock } = await openService({ database: copy })
  const { hold } = app
  let isBegun = false
  hold.whenReleased(() => {
    isBegun = true
  })
  // Releases the copy without a notification, as if the notification had reached no node.
  await copy.sql('update installation set outbound_held_at = null')
  clock.elapse(MINUTE)
  await until('it is begun', () => isBegun || undefined)
  expect(hold.since()).toBeNull()
})
