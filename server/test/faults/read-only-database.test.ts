/** A read-only database: reads work, writes get 503, and the health report shows the fault. */
import { beforeAll, expect, test } from 'vitest'
import { makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let admin: Person

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  admin = (await makeClinic(service, root, 'full')).people.admin
})

const database = async () =>
  (await service.call('GET', '/api/admin/health', { token: root.token })).body.checks.database

test.each([
  ['a full disk', 'disk_full'],
  ['an I/O error', 'io_error'],
  ['a lack of memory', 'out_of_memory'],
  ['a standby', 'read_only_sql_transaction'],
])(
  'writes get 503 with Retry-After until the database can write again, after: %s',
  async (_, condition) => {
    const { sql } = service.database
    expect(await database()).toBe('ok')
    await sql(`
    create function refuse_write() returns trigger language plpgsql as
      $$ begin raise exception 'cannot write' using errcode = '${condition}'; end $$;
    create trigger refuse_write before insert on departments execute function refuse_write()`)
    const create = () =>
      service.call('POST', '/api/admin/departments', {
        token: admin.token,
        body: { name: condition },
      })
    const refused = await create()
    expect(refused).toMatchObject({ status: 503, body: { code: 'database_away' } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(
      (await service.call('GET', '/api/admin/departments', { token: admin.token })).status,
    ).toBe(200)
    expect(await database()).toBe('degraded')

    await sql('drop trigger refuse_write on departments; drop function refuse_write')
    expect((await create()).status).toBe(201)
    expect(await database()).toBe('ok')
  },
)
