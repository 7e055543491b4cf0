/** Removals from the audit log: nobody can hide a removal behind the retention. Also the months, and the setting. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { fresh } from '../sessions/users.ts'
import { sealAll } from '../support/sealing.ts'
import { openService, type Service } from '../support/service.ts'
import { openRetentionScene, type RetentionScene } from './retention-scene.ts'

let service: Service
let at: RetentionScene

beforeAll(async () => {
  service = await openService()
})

beforeEach(async () => {
  at = await openRetentionScene(service)
})

describe('a removal', () => {
  it('is a finding without an order', async () => {
    await at.makeOldLog(3)
    await at.tamper(
      `delete from journal where tenant_id = ${at.clinic.id} and created_at < now() - interval '90 days'`,
    )
    expect(await at.findingsInDatabase()).toEqual([{ kind: 'pruned', index: 0, entry_id: null }])
  })

  it('is a finding beyond its order', async () => {
    const { old, head } = await at.makeOldLog(3)
    await at.keepFor(90)
    await at.prune()
    await at.tamper(`delete from journal where id = ${await at.entryAt(old)}`)
    const found = [{ kind: 'pruned', index: old, entry_id: null }]
    expect(await at.findingsInDatabase([head])).toEqual(found)
    expect(await at.foundInBackground()).toEqual(found)
    const file = await at.export(`${fresh('log')}.jsonl`)
    expect(await at.findingsIn(file, { heads: [head] })).toEqual(found)
  })

  it('is a finding with an order that the service did not write', async () => {
    await at.makeOldLog(3)
    await at.keepFor(90)
    await at.prune()
    const order = `action = 'audit.pruned' and tenant_id = ${at.clinic.id}`
    await at.tamper(
      `insert into journal (tenant_id, action, resource_type, changes)
       select tenant_id, action, resource_type, changes from journal where ${order};
       delete from journal where mac is not null and ${order}`,
    )
    await sealAll(service)
    expect(await at.findingsInDatabase()).toContainEqual(
      expect.objectContaining({ kind: 'pruned', index: 0 }),
    )
  })

  it('cannot be followed by a copy of a removed entry', async () => {
    await at.makeOldLog(3)
    const [own] = await service.database.sql<{ id: number }>(
      `select id from journal where tenant_id = $1 and resource_id = 'N1' order by id limit 1`,
      [at.clinic.id],
    )
    await service.database.sql(`create table kept_copy as select action, tenant_id, resource_type, resource_id,
      user_email, changes, who_salt, what_salt, mac from journal where id = ${own?.id}`)
    await at.keepFor(90)
    await at.prune()
    await at.tamper(`insert into journal (action, tenant_id, resource_type, resource_id, user_email, changes, who_salt, what_salt, mac)
      select action, tenant_id, resource_type, resource_id, user_email, changes, who_salt, what_salt, mac from kept_copy`)
    await service.database.sql('drop table kept_copy')
    await sealAll(service)
    expect(await at.findingsInDatabase()).toContainEqual(
      expect.objectContaining({ kind: 'not_written_by_service' }),
    )
  })

  it('is possible only with the database function, and only for entries older than 90 days', async () => {
    await at.grow(3)
    const { sql } = service.database
    const { id } = at.clinic
    await expect(sql(`select prune_entries(${id}, 1, 0, 2)`)).rejects.toThrow(/for 90 days/)
    await expect(sql(`delete from journal where tenant_id = ${id}`)).rejects.toThrow(/append-only/)
    await expect(
      service.app.db.acrossTenants((tx) =>
        tx.db.deleteFrom('journal').where('tenant_id', '=', id).execute(),
      ),
    ).rejects.toThrow()
  })
})

describe('a removal that only looks like one of the service', () => {
  it('gets no order, and ends further removals', async () => {
    const { old } = await at.makeOldLog(3)
    await at.keepFor(90)
    const first = await at.entryAt(0)
    await at.tamper(`delete from journal where id = ${first};
      update audit_logs set pruned_size = 1 where tenant_id = ${at.clinic.id}`)
    await at.prune()
    expect(await at.orders()).toEqual([])
    expect(await at.oldEntries()).toBe(old - 1)
    const found = [{ kind: 'pruned', index: 0, entry_id: null }]
    expect(await at.findingsInDatabase()).toEqual(found)
  })

  it('is not possible with the roles of the service', async () => {
    for (const role of ['wardkeep_app', 'wardkeep_platform'])
      await expect(
        service.database.sql(
          `begin; set local role ${role}; update audit_logs set pruned_size = 1`,
        ),
      ).rejects.toThrow(/permission denied/)
    await service.database.sql('rollback')
  })
})

describe('an export without its first entries', () => {
  it('is a finding also in an archive, whose log continues', async () => {
    await at.makeOldLog(3)
    await at.keepFor(90)
    await at.prune()
    const [name = ''] = await at.archives()
    const lines = (await readFile(path.join(at.archiveFolder, name), 'utf8')).split('\n')
    const cut = path.join(at.folder, 'cut.jsonl')
    // The header, the hashes and all entries but the first; the last line counts the entries.
    await writeFile(cut, [...lines.slice(0, 2), ...lines.slice(3)].join('\n'))
    expect(await at.findingsIn(cut)).toEqual([{ kind: 'pruned', index: 0, entry_id: null }])
  })

  it('cannot be checked without the file that has the orders', async () => {
    await at.makeOldLog(3)
    await at.keepFor(90)
    await at.prune()
    const folder = await at.export(fresh('folder'))
    expect(await at.findingsIn(folder)).toEqual([])
    await rm(path.join(folder, 'personal.jsonl'))
    await expect(at.findingsIn(folder)).rejects.toThrow(/The orders for this are in personal.jsonl/)
  })
})

describe('a month', () => {
  it('stays while it has entries, and entries are removed, if the owner of the tables is an ordinary role', async () => {
    const { old } = await at.makeOldLog(3)
    expect(old).toBeGreaterThan(0)
    const role = fresh('owner').replaceAll('-', '_')
    const { sql } = service.database
    // In one statement with the database, because other services on the server report members that own none.
    await sql(`create role ${role}; grant wardkeep_platform to ${role};
      do $$ begin execute format('alter database %I owner to ${role}', current_database()); end $$`)
    onTestFinished(async () => {
      await sql(
        `reassign owned by ${role} to current_user; drop owned by ${role}; drop role ${role}`,
      )
    })
    await sql(`do $$ declare one text; begin
      for one in select oid::regclass from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
        and relname ~ '^(journal|audit_)' loop execute format('alter table %s owner to ${role}', one); end loop;
      for one in select oid::regprocedure from pg_proc where pronamespace = 'public'::regnamespace
        and proname in ('prune_entries', 'erase_entries', 'drop_empty_journal_month', 'require_visible_rows')
        loop execute format('alter function %s owner to ${role}', one); end loop;
      end $$`)
    const month = `date_trunc('month', now() at time zone 'UTC' - interval '200 days')::date`
    const drop = `select drop_empty_journal_month(${month}) as is_dropped`
    expect(await sql(drop)).toEqual([{ is_dropped: false }])
    expect(await at.oldEntries()).toBe(old)
    await at.keepFor(90)
    await at.prune()
    expect(await at.oldEntries()).toBe(0)
    for (const table of ['journal', 'journal_resources'])
      await at.tamper(`delete from ${table} where created_at < now() - interval '90 days'`)
    expect(await sql(drop)).toEqual([{ is_dropped: true }])
    await sql(`alter role ${role} noinherit; revoke wardkeep_platform from ${role}`)
    await expect(sql('select erase_entries(array[1])')).rejects.toThrow(/must inherit the role/)
  })

  it('is dropped once it has no entries', async () => {
    const months = () =>
      service.database
        .sql<{ name: string }>(
          `select relname as name from pg_class where relname ~ '^journal(_resources)?_\\d{4}_\\d{2}$' order by 1`,
        )
        .then((rows) => rows.map(({ name }) => name))
    await at.makeOldLog(3)
    const [{ month } = { month: '' }] = await service.database.sql<{ month: string }>(
      `select to_char(now() at time zone 'UTC' - interval '200 days', 'YYYY_MM') as month`,
    )
    await at.prune()
    expect(await months()).toContain(`journal_${month}`)
    await at.keepFor(90)
    for (const table of ['journal', 'journal_resources'])
      await at.tamper(
        `delete from ${table} where tenant_id is distinct from ${at.clinic.id} and created_at < now() - interval '90 days'`,
      )
    await at.prune()
    const left = await months()
    expect(left).not.toContain(`journal_${month}`)
    expect(left).not.toContain(`journal_resources_${month}`)
    expect(left.length).toBeGreaterThanOrEqual(4)
  })
})

describe('the setting', () => {
  it.each([89, '90', -1, 90.5, 36_501, true])('is refused with the value %j', async (value) => {
    expect(await at.keepFor(value)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'settings', 'audit_retention_days'] }] },
    })
  })

  it.each([90, 36_500, null])('is accepted with the value %j', async (value) => {
    expect((await at.keepFor(value)).status).toBe(200)
  })

  it('is longer than the retention of webhook deliveries', async () => {
    const other = await openService({
      config: { WEBHOOK_RETENTION_DAYS: 90 },
      database: service.database,
    })
    const { id } = at.clinic
    const set = (audit_retention_days: number) =>
      other.call('PUT', `/api/admin/tenants/${id}`, {
        token: at.token,
        body: { settings: { audit_retention_days } },
      })
    expect(await set(90)).toMatchObject({
      status: 422,
      body: { detail: [{ msg: expect.stringContaining('at least 91') }] },
    })
    expect((await set(91)).status).toBe(200)
  })
})
