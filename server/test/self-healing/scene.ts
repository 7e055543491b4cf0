/** Self-healing with fixes that are made for a test. Uses its own database or that of a service. */
import { openSelfHealing } from '../../src/features/self-healing/index.ts'
import type { SelfHealing } from '../../src/features/self-healing/self-healing.ts'
import { parseCron } from '../../src/lib/cron.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import type { Fix } from '../../src/platform/feature/fix.ts'
import { openMetrics } from '../../src/platform/observe/metrics.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { aTenant, openNode } from '../support/jobs.ts'
import { type MovableClock, movableClock } from '../support/service.ts'
import { ROOT } from './root.ts'

export interface Healing {
  healing: SelfHealing
  database: TestDatabase
  clock: MovableClock
  /** Every logged line, as `[level, fields, message]`. */
  logged: [string, Record<string, any>, string][]
  /** The other parts of the node. A test uses them to open another node with the same clock. */
  metrics: () => Promise<string>
  scan(): Promise<any>
  /** Returns the fix with this key as a superadmin sees it. Without a key, returns the only fix. */
  fix(key?: string): Promise<any>
  confirm(key?: string): Promise<any>
  /** Returns the new journal entries of self-healing in order. */
  journal(): Promise<{ action: string; tenant_id: number | null; changes: any }[]>
}

/** Creates a database with a tenant and the table `sores` (see sores.ts). */
export async function soreDatabase(): Promise<{ database: TestDatabase; tenant: number }> {
  const database = await migratedDatabase()
  await database.sql(`create table sores (
    name text primary key, tenant_id bigint, is_open boolean not null default true, treated integer default 0)`)
  await database.sql('grant all on sores to wardkeep_app, wardkeep_platform')
  return { database, tenant: await aTenant(database) }
}

/** Removes all traces of earlier faults. */
export async function forget({ sql }: TestDatabase): Promise<void> {
  await sql('delete from sores')
  await sql('delete from self_healing_fixes')
}

interface Options {
  mode?: 'auto' | 'propose' | 'off'
  lookMs?: number
  clock?: MovableClock
}

/** Opens a node with these fixes. The node is closed at the end of the test. */
export async function heal(
  database: TestDatabase,
  fixes: readonly Fix[],
  { mode = 'auto', lookMs, clock = movableClock() }: Options = {},
): Promise<Healing> {
  const { db, jobs, log, logged, outage } = openNode(database, { works: false, clock })
  const metrics = openMetrics(() => false, log, clock)
  const core = {
    db,
    jobs,
    log,
    clock,
    metrics,
    outage,
    openConnection: () => ownerClient(database.address),
    config: { SELF_HEALING: mode, SELF_HEALING_SCAN: parseCron('*/5 * * * *') },
  }
  const healing = await openSelfHealing(core, fixes, lookMs)
  const [last] = await database.sql<{ id: number }>(
    'select coalesce(max(id), 0) as id from journal',
  )
  const fix = async (key = fixes[0]?.key) =>
    (await healing.service.list(ROOT)).items.find((one) => one.key === key)
  return {
    healing,
    database,
    clock,
    logged,
    metrics: () => metrics.registry.metrics(),
    scan: () => healing.scan(),
    fix,
    confirm: async (key) => healing.service.confirm(ROOT, (await fix(key))?.id ?? 0),
    journal: () =>
      database.sql(
        `select action, tenant_id, changes from journal
         where action like 'self\\_healing.%' and id > $1 order by id`,
        [last?.id],
      ),
  }
}

/** Opens sores of the tenant, or of the platform without a tenant. */
export async function hurt(
  { sql }: TestDatabase,
  names: readonly string[],
  tenant: number | null = null,
): Promise<void> {
  await sql(
    `insert into sores (name, tenant_id) select unnest($1::text[]), $2
     on conflict (name) do update set is_open = true`,
    [names, tenant],
  )
}

/** Returns the state of self-healing in the health report. */
export function healthOf({ healing }: Healing): string | undefined {
  const found = healing.checks?.self_healing?.()
  return typeof found === 'string' ? found : found?.state
}
