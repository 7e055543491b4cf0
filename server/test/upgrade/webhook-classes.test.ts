/** The migration that adds the classes of responses, on deliveries of the release before it. */
import { expect, it } from 'vitest'
import { migrate, readMigrations } from '../../src/platform/schema/migrate.ts'
import { emptyDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'

it('the migration classifies the last response to each delivery that has not succeeded', async () => {
  const { sql, address } = await emptyDatabase()
  const all = await readMigrations()
  await migrate(
    address,
    silentLog,
    all.filter(({ version }) => version < 27),
  )
  await sql(`
    insert into tenants (id, name, subdomain) values (7, 'North', 'north');
    insert into webhooks (id, tenant_id, url, events) values (1, 7, 'http://127.0.0.1:9', '{*}');
    select ensure_webhook_partitions('2026-11-20', '2026-11-20');
    insert into webhook_deliveries
      (tenant_id, webhook_id, entry_id, event_at, event, status, attempts, due_at)
    values (7, 1, 1, '2026-11-20', 'user.created', 'failed', 2, null),
      (7, 1, 2, '2026-11-20', 'user.created', 'pending', 1, '2099-01-01'),
      (7, 1, 3, '2026-11-20', 'user.created', 'delivered', 1, null),
      (7, 1, 4, '2026-11-20', 'user.created', 'pending', 0, '2099-01-01');
    insert into webhook_attempts
      (tenant_id, webhook_id, entry_id, event_at, number, started_at, duration_ms, status_code, error)
    values (7, 1, 1, '2026-11-20', 1, '2026-11-20', 5, 503, 'status'),
      (7, 1, 1, '2026-11-20', 2, '2026-11-20', 5, 404, 'status'),
      (7, 1, 2, '2026-11-20', 1, '2026-11-20', 5, null, 'timeout'),
      (7, 1, 3, '2026-11-20', 1, '2026-11-20', 5, 200, null)`)
  await migrate(address, silentLog, all)
  expect(
    await sql('select entry_id, status_class from webhook_deliveries order by entry_id'),
  ).toEqual([
    { entry_id: 1, status_class: 4 },
    { entry_id: 2, status_class: 0 },
    { entry_id: 3, status_class: null },
    { entry_id: 4, status_class: null },
  ])
})
