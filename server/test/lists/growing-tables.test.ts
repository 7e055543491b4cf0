/**
 * A clinic's first hours: the database plans statements while the tables are empty and not yet analyzed. Lookups by key
 * must keep using their index while the tables grow.
 */
import { expect, test } from 'vitest'
import { openPatientScene } from '../patients/scene.ts'
import { openPaymentScene } from '../payments/scene.ts'
import { openReceiver } from '../support/receiver.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const ROWS = 200
/** The maximum number of reads for each added row. Reading all earlier rows would need 100. */
const READS = 40

/** Returns the rows and index entries read for each added row. First waits until the statistics include all of them. */
async function readsFor({ database }: Service, table: string): Promise<number> {
  return until(`the statistics know of all in ${table}`, async () => {
    const [row] = await database.sql<{ added: number; read: number }>(
      `select n_tup_ins::integer as added, (seq_tup_read + (select coalesce(sum(idx_tup_read), 0)
         from pg_stat_user_indexes i where i.relid = t.relid))::integer as read
       from pg_stat_user_tables t where relname = $1`,
      [table],
    )
    return row && row.added >= ROWS ? row.read / row.added : undefined
  })
}

/** Disables autovacuum, so that the planner has no statistics. */
async function leaveUnanalyzed({ database }: Service, ...tables: string[]): Promise<void> {
  for (const table of tables)
    await database.sql(`alter table ${table} set (autovacuum_enabled = false)`)
}

test('creating patients reads no earlier patients', async () => {
  const service = await openService()
  await leaveUnanalyzed(service, 'patients', 'patient_tokens')
  const scene = await openPatientScene(service)
  for (let made = 0; made < ROWS; made += 1) {
    const identifiers = [{ system: 'insurer', value: `A${made}` }]
    await scene.patient({ full_name: `Patient ${made}`, birth_date: '1961-05-14', identifiers })
  }
  for (const table of ['patients', 'patient_tokens'])
    expect(await readsFor(service, table), table).toBeLessThan(READS)
})

test('publishing payments to webhooks reads no earlier payments', async () => {
  const scene = await openPaymentScene({ background: ['payments', 'webhooks'] })
  const { service, clinic } = scene
  await leaveUnanalyzed(service, 'payments', 'payment_notifications')
  const receiver = await openReceiver()
  const body = { url: receiver.url, events: ['payment.succeeded'] }
  const { token } = clinic.people.admin
  await service.call('POST', '/api/webhooks/register', { token, body })
  for (let sent = 0; sent < ROWS; sent += 1)
    expect((await scene.send(scene.about('succeeded', `p${sent}`))).status).toBe(200)
  await until('all have arrived', () => receiver.received.length >= ROWS || undefined)
  for (const table of ['payments', 'payment_notifications'])
    expect(await readsFor(service, table), table).toBeLessThan(READS)
})
