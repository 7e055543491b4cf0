/** The retention of the audit log: old entries are archived and removed, and the log stays whole. */
import { createHash } from 'node:crypto'
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anchorLogs } from '../../src/features/audit/transparency/anchors.ts'
import { beginEpochs } from '../../src/features/audit/transparency/epochs.ts'
import { rebuildCounts } from '../../src/features/stats/rebuild.ts'
import { fresh } from '../sessions/users.ts'
import { sealAll } from '../support/sealing.ts'
import { openService, type Service } from '../support/service.ts'
import { openRetentionScene, type RetentionScene } from './retention-scene.ts'

/** Matches the name of an archive. @param place the tenant, the epoch, and the first and last index */
const archiveOf = (place: string) =>
  expect.stringMatching(new RegExp(`^audit-${place}-[0-9a-f]{12}\\.jsonl$`))

let service: Service
let at: RetentionScene

beforeAll(async () => {
  service = await openService()
})

beforeEach(async () => {
  at = await openRetentionScene(service)
})

describe('a log with a retention', () => {
  it('loses its old entries to an archive that verifies, and stays whole', async () => {
    const { old, head } = await at.makeOldLog()
    await at.keepFor(90)
    await at.prune()
    expect(await at.oldEntries()).toBe(0)
    const [file = '', ...others] = await at.archives()
    expect(others).toEqual([])
    const archive = path.join(at.archiveFolder, file)
    const kept = { heads: [], keys: [await at.key()] }
    expect(await at.findingsIn(archive, kept)).toEqual([])
    const sha256 = createHash('sha256')
      .update(await readFile(archive))
      .digest('hex')
    expect(await at.orders()).toEqual([
      {
        retention_days: 90,
        entries: old,
        archive: { file, sha256, epoch: 1, first: 0, last: old - 1 },
        leaves: [{ epoch: 1, first: 0, last: old - 1 }],
        heads: [],
      },
    ])
    expect(await at.findingsInDatabase([head])).toEqual([])
    expect(await at.foundInBackground()).toEqual([])
    for (const name of [`${fresh('log')}.jsonl`, fresh('folder')])
      expect(await at.findingsIn(await at.export(name), { heads: [head] })).toEqual([])
  })

  it('has an archive with every field of the removed entries', async () => {
    await at.makeOldLog(3)
    const [before] = await service.database.sql(
      `select user_email, changes from journal where tenant_id = $1 and resource_id = 'N2' and created_at < now() - interval '90 days'`,
      [at.clinic.id],
    )
    await at.keepFor(90)
    await at.prune()
    const [file = ''] = await at.archives()
    const lines = (await readFile(path.join(at.archiveFolder, file), 'utf8')).trim().split('\n')
    const archived = lines
      .map((line) => JSON.parse(line))
      .find(({ resource_id }) => resource_id === 'N2')
    expect(archived).toMatchObject(before as object)
  })

  it('is proved entry by entry as before, except for the removed entries', async () => {
    const { old } = await at.makeOldLog()
    const proofOf = (id: number) =>
      service.call('GET', `/api/admin/audit/proof/${id}`, { token: at.token })
    const [removed, kept] = [await at.entryAt(0), await at.entryAt(old)]
    await at.keepFor(90)
    await at.prune()
    expect(await proofOf(kept)).toMatchObject({ status: 200, body: { index: old } })
    expect((await proofOf(removed)).status).toBe(404)
    const tile = (part: string) =>
      service.call('GET', `/api/admin/audit/log/${at.clinic.id}/tile/${part}`, { token: at.token })
    expect((await tile('0/000')).status).toBe(200)
    expect((await tile('entries/000')).status).toBe(404)
  })

  it('loses the earlier orders as well, because each order covers them', async () => {
    await at.grow(3, 200)
    await at.keepFor(190)
    await sealAll(service)
    await at.grow(2, 95)
    await at.aged(95, () => at.prune())
    await at.keepFor(90)
    await at.prune()
    expect(await at.orders()).toHaveLength(1)
    expect(await at.findingsInDatabase()).toEqual([])
    expect(await at.findingsIn(await at.export(`${fresh('log')}.jsonl`))).toEqual([])
  })

  it('loses the epoch that ended, and the entry that confirmed its end', async () => {
    await at.grow(3, 200)
    const outside = {
      list: async () => [
        {
          origin: '',
          size: 1_000_000,
          root: Buffer.alloc(32),
          tenant_id: at.clinic.id,
          epoch: 1,
          installation: 'another',
        },
      ],
    }
    // The last signed head has fewer entries than the epoch.
    await at.keepHead(fresh('head'))
    await at.grow(2, 200)
    const before = await at.count(`audit_leaves where tenant_id = ${at.clinic.id}`)
    await at.aged(150, () => beginEpochs({ ...at.deps, outside: outside as never }))
    await at.keepFor(160)
    await at.prune()
    expect(await at.archives()).toEqual([archiveOf(`${at.clinic.id}-1-0-${before - 1}`)])
    const kept = { heads: [], keys: [await at.key()] }
    for (const file of await at.archives())
      expect(await at.findingsIn(path.join(at.archiveFolder, file), kept)).toEqual([])
    await sealAll(service)
    await at.keepFor(90)
    await at.prune()
    expect((await at.orders()).at(-1)).toMatchObject({
      leaves: [
        { epoch: 1, first: 0, last: before - 1 },
        { epoch: 2, first: 0, last: 0 },
      ],
      heads: [{ size: before }],
    })
    expect(await at.findingsIn(await at.export(`${fresh('log')}.jsonl`))).toEqual([])
    expect(await at.findingsInDatabase()).toEqual([])
  })

  it('keeps entries that a consumer of the journal has not read', async () => {
    const { old } = await at.makeOldLog(3)
    await at.keepFor(90)
    await at.prune({ readers: () => ['audit', 'siem'] })
    expect(await at.oldEntries()).toBe(old)
    await service.database.sql(
      `insert into journal_consumers (consumer, xid, id)
       select 'siem', xid, id from journal where id = ${await at.entryAt(old - 2)}`,
    )
    await at.prune({ readers: () => ['audit', 'siem'] })
    expect(await at.oldEntries()).toBe(1)
    await service.database.sql(`delete from journal_consumers where consumer = 'siem'`)
  })

  it('keeps all entries without a value, and with null', async () => {
    const { old } = await at.makeOldLog(3)
    await at.prune()
    await at.keepFor(null)
    await at.prune()
    expect(await at.oldEntries()).toBe(old)
    expect(await at.archives()).toEqual([])
  })

  it('also loses the records that an entry refers to', async () => {
    const { token: own } = at.clinic.people.nurse
    for (const name of ['Ada', 'Ben'])
      await service.call('POST', '/api/patients', {
        token: own,
        body: { full_name: name, birth_date: '1980-01-01' },
      })
    await service.call('GET', '/api/patients', { token: own })
    const resources = `journal_resources where tenant_id = ${at.clinic.id}`
    expect(await at.count(resources)).toBeGreaterThan(0)
    await service.database.sql('select ensure_journal_partitions(0, 24)')
    await at.tamper(
      `update journal_resources set created_at = created_at - interval '200 days' where tenant_id = ${at.clinic.id}`,
    )
    await at.makeOldLog(1)
    await at.keepFor(90)
    await at.prune()
    expect(await at.count(resources)).toBe(0)
  })

  it('keeps its entries as evidence if it was altered, and the health report says so', async () => {
    const { old } = await at.makeOldLog(3)
    await at.keepFor(90)
    await at.tamper(
      `update journal set changes = '{"after":{"name":"X"}}' where id = ${await at.entryAt(old - 1)}`,
    )
    await at.prune()
    expect(await at.oldEntries()).toBe(old)
    expect(await at.archives()).toEqual([])
    const [log] = await service.database.sql(
      'select prune_failure, prune_failing_since from audit_logs where tenant_id = $1',
      [at.clinic.id],
    )
    expect(log).toEqual({
      prune_failure: expect.stringMatching(/^The log was altered, so its entries stay as evidence/),
      prune_failing_since: expect.any(String),
    })
    await at.tamper(
      `update journal set changes = '{"after":{"name":"N3"}}' where id = ${await at.entryAt(old - 1)}`,
    )
  })

  it('loses its entries once, even if the process dies after the archive', async () => {
    const { old } = await at.makeOldLog(3)
    await at.keepFor(90)
    const draft = path.join(at.archiveFolder, `.audit-${at.clinic.id}-1-0-x.part`)
    await writeFile(draft, 'cut')
    await utimes(draft, 0, 0)
    await service.database.sql(
      `create function fail() returns trigger language plpgsql as $$ begin raise exception 'killed'; end $$;
       create trigger fail before update of pruned_size on audit_logs for each row execute function fail()`,
    )
    await at.prune()
    expect(await at.oldEntries()).toBe(old)
    await service.database.sql('drop function fail cascade')
    await at.prune()
    expect(await at.oldEntries()).toBe(0)
    expect(await at.archives()).toHaveLength(1)
    expect(await at.orders()).toHaveLength(1)
  })

  it('keeps the counts of removed entries when the command counts the journal again', async () => {
    await at.makeOldLog(3)
    const charts = () =>
      service.database.sql(
        `select slot, count from stats where tenant_id = $1 and series = 'changes' order by slot`,
        [at.clinic.id],
      )
    await service.idle('stats').catch(() => undefined)
    await rebuildCounts(service.app.db)
    const before = await charts()
    await at.keepFor(90)
    await at.prune()
    await rebuildCounts(service.app.db)
    expect((await charts()).slice(0, before.length - 1)).toEqual(before.slice(0, -1))
  })
})

describe('the nightly job', () => {
  it('removes entries into the configured folder, and reports failures in the health report', async () => {
    const { clinic, token, archiveFolder } = at
    const { sql } = service.database
    const { old } = await at.makeOldLog(3)
    await at.keepFor(90)
    const worker = await openService({
      background: ['jobs'],
      config: { AUDIT_ARCHIVE_DIR: archiveFolder },
      database: service.database,
    })
    expect(await sql(`select cron from pgboss.schedule where name = 'audit.prune'`)).toEqual([
      { cron: '47 2 * * *' },
    ])
    const runJob = async () => {
      // All consumers have read what the sealer has read.
      await sql(
        `insert into journal_consumers (consumer, xid, id)
         select other, xid, id from journal_consumers, unnest('{stats,webhooks,messenger}'::text[]) as other
         where consumer = 'audit'
         on conflict (consumer) do update set xid = excluded.xid, id = excluded.id`,
      )
      await sql(`insert into pgboss.job (name, policy) values ('audit.prune', 'short')`)
      await worker.idle('jobs')
    }
    await runJob()
    expect(await at.archives()).toEqual([archiveOf(`${clinic.id}-1-0-${old - 1}`)])
    const next = await openRetentionScene(service)
    await next.makeOldLog(3)
    await next.keepFor(90)
    await next.tamper(`update journal set user_email = 'x' where id = ${await next.entryAt(1)}`)
    await runJob()
    const restarted = await openService({ database: service.database })
    const { body } = await restarted.call('GET', '/api/admin/health', { token })
    expect(body.components).toContainEqual(
      expect.objectContaining({
        name: 'audit_retention',
        state: 'degraded',
        reason: expect.stringMatching(/not removed \(audit logs: \d\)\. The log was altered/),
        runbook: 'audit-retention.md',
      }),
    )
  })
})

describe('the log of the platform', () => {
  it('has the retention of the platform, and still anchors the other logs', async () => {
    service = await openService()
    at = await openRetentionScene(service)
    const [platform] = await service.database.sql<{ id: number }>(
      'select id from tenants where is_platform',
    )
    await service.database.sql('select ensure_journal_partitions(0, 24)')
    // Seals all entries again, as old ones.
    await at.tamper(`delete from audit_leaves; delete from audit_tiles; delete from audit_logs;
      delete from journal_consumers where consumer = 'audit';
      update journal set created_at = created_at - interval '200 days'`)
    await sealAll(service)
    await at.aged(200, () => anchorLogs(at.deps))
    await sealAll(service)
    const own = `journal where tenant_id is null and created_at < now() - interval '90 days'`
    const old = await at.count(own)
    expect(old).toBeGreaterThan(0)
    await at.keepFor(90, platform?.id)
    await at.prune()
    expect(await at.count(own)).toBe(0)
    const notAnchored = 'audit_logs where tenant_id <> 0 and anchored_size > 0'
    expect(await at.count(notAnchored)).toBe(0)
    await anchorLogs(at.deps)
    expect(await at.count(notAnchored)).toBeGreaterThan(0)
    expect(await readdir(at.archiveFolder)).toContainEqual(archiveOf(`0-1-0-${old - 1}`))
    expect(await at.findingsInDatabase()).toEqual([])
  })
})
