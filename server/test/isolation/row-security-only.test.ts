/** Isolation only by row-level security: the rows that the application role can read and change with plain SQL. */
import type pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { listenerClient } from '../../src/platform/db/connection.ts'
import { openService, type Service } from '../support/service.ts'
import {
  furnishAccount,
  furnishBackup,
  furnishFix,
  furnishList,
  furnishMessenger,
  furnishPatient,
  furnishPayment,
  furnishTicket,
  furnishVerification,
  furnishWebhook,
} from './furnish.ts'
import { openScene, type Scene, tenantTables } from './scene.ts'

const REFUSED_BY_POLICY = '42501'

let service: Service
let scene: Scene
let tables: string[]

beforeAll(async () => {
  service = await openService({ background: ['payments'] })
  scene = await openScene(service)
  await service.call('PUT', '/api/preferences/theme', {
    token: scene.own.people.nurse.token,
    body: { theme: 'dark' },
  })
  await service.call('GET', '/api/admin/users', { token: scene.own.people.nurse.token })
  await furnishPatient(service, scene.own)
  await furnishAccount(service, scene.own.people.receptionist)
  await furnishWebhook(service, scene.own)
  await furnishPayment(service, scene.own)
  const { backupId } = await furnishBackup(service, scene.own)
  await furnishTicket(service, scene.own.people.admin, backupId)
  await furnishFix(service, scene.own)
  await furnishVerification(service, scene.own)
  await furnishMessenger(service, scene.own.people.nurse)
  await furnishList(service, scene.own.people.nurse)
  tables = await tenantTables(service)
})

/** Runs `work` on a connection as the application's role. */
async function asApp<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = listenerClient(service.database.address)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Runs `work` as the application's role in a transaction of the tenant. */
function inTenant<T>(tenantId: number, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return asApp(async (client) => {
    await client.query('begin')
    await client.query(`set local wardkeep.tenant_id = '${tenantId}'`)
    const result = await work(client)
    await client.query('commit')
    return result
  })
}

const countOf = async (client: pg.Client, table: string): Promise<number> =>
  (await client.query(`select count(*)::int as rows from ${table}`)).rows[0].rows

describe('a select statement without a where clause', () => {
  test('returns no rows of any tenant table if no tenant is set, although the table has rows', async () => {
    for (const table of ['tenants', ...tables]) {
      const [all] = await service.database.sql<{ rows: number }>(
        `select count(*)::int as rows from ${table}`,
      )
      expect([table, (all?.rows ?? 0) > 0]).toEqual([table, true])
      expect([table, await asApp((client) => countOf(client, table))]).toEqual([table, 0])
    }
  })

  test('returns only the rows of the tenant that is set', async () => {
    for (const table of tables) {
      const [own] = await service.database.sql<{ rows: number }>(
        `select count(*)::int as rows from ${table} where tenant_id = $1`,
        [scene.own.id],
      )
      expect([table, (own?.rows ?? 0) > 0]).toEqual([table, true])
      const seen = await inTenant(scene.own.id, (client) => countOf(client, table))
      expect([table, seen]).toEqual([table, own?.rows])
      const foreign = await inTenant(scene.own.id, async (client) => {
        const sql = `select count(*)::int as rows from ${table} where tenant_id <> $1`
        return (await client.query(sql, [scene.own.id])).rows[0].rows
      })
      expect([table, foreign]).toEqual([table, 0])
    }
    const tenants = await inTenant(scene.own.id, (client) => client.query('select id from tenants'))
    expect(tenants.rows.map((row) => Number(row.id))).toEqual([scene.own.id])
  })

  test('returns no rows if the set tenant is unknown, and fails if the set tenant is invalid', async () => {
    expect(await inTenant(999_999, (client) => countOf(client, 'users'))).toBe(0)
    await expect(
      asApp(async (client) => {
        await client.query("set wardkeep.tenant_id = 'x'")
        return countOf(client, 'users')
      }),
    ).rejects.toMatchObject({ code: '22P02' })
  })
})

describe('a write to rows of another tenant', () => {
  const { own, foreign } = {
    own: () => scene.own.id,
    foreign: () => scene.foreign.id,
  }

  test.each([
    ['a department', "insert into departments (tenant_id, name) values ($1, 'planted')"],
    [
      'a user',
      "insert into users (tenant_id, email, full_name, role, password_hash) values ($1, 'p@p.test', 'p', 'admin', 'x')",
    ],
    ['a patient', 'insert into patients (tenant_id) values ($1)'],
    ['moving its own patient to the other tenant', 'update patients set tenant_id = $1'],
    [
      'the search tokens of a patient',
      `insert into patient_tokens (tenant_id, patient_id, kind, token, data_key_id)
       select $1, patient_id, kind, token, data_key_id from patient_tokens`,
    ],
    ['moving its own grant to the other tenant', 'update patient_grants set tenant_id = $1'],
    [
      'a journal entry',
      "insert into journal (tenant_id, action, resource_type) values ($1, 'user.updated', 'user')",
    ],
    [
      'a journal reference to a patient',
      "insert into journal_resources (tenant_id, resource_type, resource_id, created_at, entry_id) values ($1, 'patient', 1, now(), 1)",
    ],
    [
      'a mailed link',
      `insert into account_tokens (tenant_id, user_id, purpose, token_hash, email, expires_at)
       select $1, id, 'verify_email', 'x', email, now() from users limit 1`,
    ],
    [
      'a data key',
      `insert into data_keys (tenant_id, key_encryption_key_id, wrapped_key)
       select $1, id, 'x' from key_encryption_keys limit 1`,
    ],
    [
      'moving its own second factor to the other tenant',
      'update second_factors set tenant_id = $1',
    ],
    [
      'a webhook',
      "insert into webhooks (tenant_id, url, events) values ($1, 'https://p.test/', '{*}')",
    ],
    [
      'a delivery',
      `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, due_at)
       select $1, id, 1, now(), 'user.created', now() from webhooks limit 1`,
    ],
    ['moving its own webhook to the other tenant', 'update webhooks set tenant_id = $1'],
    ['a tenant', "insert into tenants (id, name, subdomain) values ($1 + 100000, 'p', 'planted')"],
    [
      'moving its own row to the other tenant',
      'update users set tenant_id = $1 where department_id is null',
    ],
    ['moving its own department to the other tenant', 'update departments set tenant_id = $1'],
  ])('is refused: %s', async (_what, sql) => {
    if (sql.startsWith('update users'))
      await service.database.sql('update users set department_id = null where tenant_id = $1', [
        own(),
      ])
    await expect(inTenant(own(), (client) => client.query(sql, [foreign()]))).rejects.toMatchObject(
      { code: REFUSED_BY_POLICY },
    )
  })

  test('finds no rows to update or delete', async () => {
    const before = await scene.snapshot()
    for (const sql of [
      'update users set is_active = false where tenant_id = $1',
      'update sessions set ended_at = now() where tenant_id = $1',
      'update tenants set name = name || name where id = $1',
      'delete from departments where tenant_id = $1',
      'delete from refresh_tokens where tenant_id = $1',
      'delete from download_tickets where tenant_id = $1',
      'delete from preferences where tenant_id = $1',
      'delete from account_tokens where tenant_id = $1',
      'delete from second_factors where tenant_id = $1',
      'update recovery_codes set used_at = null where tenant_id = $1',
      'update data_keys set retired_at = now() where tenant_id = $1',
      "update webhooks set url = 'https://p.test/' where tenant_id = $1",
      'update webhook_queues set due_at = now() where tenant_id = $1',
      'update webhook_deliveries set attempts = 0 where tenant_id = $1',
      'delete from webhook_secrets where tenant_id = $1',
      'delete from webhook_attempts where tenant_id = $1',
      'delete from webhook_replays where tenant_id = $1',
      'delete from backups where tenant_id = $1',
      'delete from backup_jobs where tenant_id = $1',
    ]) {
      const { rowCount } = await inTenant(own(), (client) => client.query(sql, [foreign()]))
      expect([sql, rowCount]).toEqual([sql, 0])
    }
    expect(await scene.snapshot()).toEqual(before)
  })

  test('is also refused by foreign keys: no row can refer to a record of another tenant', async () => {
    await expect(
      service.database.sql('update users set department_id = $1 where id = $2', [
        scene.foreign.departmentId,
        scene.own.people.nurse.id,
      ]),
    ).rejects.toMatchObject({ constraint: 'users__department' })
    await expect(
      service.database.sql('update departments set head_doctor_id = $1 where id = $2', [
        scene.foreign.people.doctor.id,
        scene.own.departmentId,
      ]),
    ).rejects.toMatchObject({ constraint: 'departments__head_doctor' })
  })
})

describe('the database setting of the current tenant', () => {
  test('is cleared after the transaction, on the same connection', async () => {
    await asApp(async (client) => {
      for (const end of ['commit', 'rollback']) {
        await client.query('begin')
        await client.query(`set local wardkeep.tenant_id = '${scene.own.id}'`)
        expect(await countOf(client, 'users')).toBeGreaterThan(0)
        await client.query(end)
        const { rows } = await client.query('select current_tenant() as tenant')
        expect([end, rows[0].tenant]).toEqual([end, null])
        expect([end, await countOf(client, 'users')]).toEqual([end, 0])
      }
    })
  })

  test('never leaks from one call to the next, although the calls share few connections', async () => {
    const few = await openService({
      database: service.database,
      config: { DATABASE_POOL_SIZE: 1 },
    })
    const calls = Array.from({ length: 24 }, (_, turn) => [scene.own, scene.third][turn % 2])
    const answers = await Promise.all(
      calls.map(async (clinic) => {
        const { token } = clinic?.people.admin ?? {}
        const answer = await few.call('GET', '/api/admin/users', { token, query: { limit: 100 } })
        return answer.body.items.map((user: { tenant_id: number }) => user.tenant_id)
      }),
    )
    for (const [turn, tenants] of answers.entries())
      expect(new Set(tenants)).toEqual(new Set([calls[turn]?.id]))
  })
})
