/** Publishes events in the way that commands do: journal entries, with a notification after the commit. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { sharedMs } from '../measure/clock.ts'

export interface Published {
  tenantId: number
  /** The `webhook-id` of the messages for this event. */
  id: string
  /** The time when the commit was acknowledged (`sharedMs`). */
  committedAt: number
}

export interface Publisher {
  /** Publishes as fast as one connection can, with many events per transaction. */
  atOnce(events: number): Promise<Published[]>
  /** Publishes evenly over this many seconds, with one event of each tenant per transaction. */
  evenly(events: number, seconds: number): Promise<Published[]>
  close(): Promise<void>
}

const TOGETHER = 50
const CONNECTIONS = 4
/** The minimum time between two notifications, as on a node of the service. */
const APART_MS = 5

const ENTRIES = `
  insert into journal (tenant_id, user_id, user_email, action, resource_type, resource_id, changes,
    ip, user_agent, request_id)
  select tenant_id, 41, 'admin@clinic.example', 'department.updated', 'department', '12',
    '{"before": {"name": "Surgery", "head_doctor_id": null},
      "after": {"name": "Surgery and intensive care", "head_doctor_id": 44}}',
    '10.1.2.3', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    '4e9e57ab-0000-4000-8000-000000000001'
  from unnest($1::bigint[]) as tenants (tenant_id)
  returning id::float8, tenant_id::float8, (extract(epoch from created_at) * 1000)::float8 as ms`
const ANNOUNCE = `select pg_notify('wardkeep_changes', 'journal')`

/** @param tenants the tenants of the events, in turn */
export function openPublisher(database: pg.ClientConfig, tenants: readonly number[]): Publisher {
  const pool = new pg.Pool({ ...database, max: CONNECTIONS })
  const announcing = new pg.Pool({ ...database, max: 1 })
  let turn = 0
  let isNew = false
  let telling: Promise<void> | undefined

  async function tell(): Promise<void> {
    while (isNew) {
      isNew = false
      await announcing.query({ name: 'announce', text: ANNOUNCE })
      await delay(APART_MS)
    }
    telling = undefined
  }

  async function publish(events: number): Promise<Published[]> {
    const whose = Array.from({ length: events }, () => {
      turn += 1
      return tenants[turn % tenants.length]
    })
    const { rows } = await pool.query({ name: 'entries', text: ENTRIES, values: [whose] })
    const committedAt = sharedMs()
    isNew = true
    telling ??= tell()
    return rows.map(({ id, tenant_id, ms }) => ({
      tenantId: tenant_id,
      id: `msg_${ms.toString(36)}_${id.toString(36)}`,
      committedAt,
    }))
  }

  return {
    async atOnce(events) {
      const published: Published[] = []
      while (published.length < events)
        published.push(...(await publish(Math.min(TOGETHER, events - published.length))))
      return published
    },
    async evenly(events, seconds) {
      const start = sharedMs()
      const running: Promise<Published[]>[] = []
      for (let event = 0; event < events; event += tenants.length) {
        const early = start + (event * seconds * 1000) / events - sharedMs()
        if (early > 0) await delay(early)
        running.push(publish(tenants.length))
      }
      return (await Promise.all(running)).flat()
    },
    async close() {
      await telling
      await Promise.all([pool.end(), announcing.end()])
    },
  }
}
