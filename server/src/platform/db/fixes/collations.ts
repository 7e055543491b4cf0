/** The fix of collations that have changed under the database: what its indexes on text hold is in another order. */
import type { Fix } from '../../fix.ts'
import type { Words } from './drift.ts'
import { askIn, type Ground } from './ground.ts'
import { unhurried } from './index-build.ts'
import type { Ask } from './schema.ts'

const WORDS: Words = {
  key: 'database.collations',
  title: 'A collation has another version than the indexes were built by',
  description:
    'The library that sorts text was changed under the database, as by an upgrade of the operating system. Rows may not be found by their text, and what is unique may be entered twice.',
  severity: 'critical',
  plan: 'Builds each index on text that is sorted by it anew, beside the old one, and then notes the new version. It takes as long as the tables are large, and waits for transactions that are open.',
  runbook: 'schema-drift.md',
}

interface Collation {
  /** "collation of the database", or with its name. */
  subject: string
  recorded: string
  actual: string
  /** The indexes on text that is sorted by it. */
  indexes: string[]
  /** Notes the new version. */
  refresh: string
}

/** One that sorts by bytes has no version. The database's own is the one with the name "default". */
const CHANGED = `
  with known as (
    select c.oid, 'collation of the database' as subject, d.datcollversion as recorded,
      pg_database_collation_actual_version(d.oid) as actual,
      format('alter database %I refresh collation version', d.datname) as refresh
    from pg_database d join pg_collation c on c.collname = 'default' and c.collnamespace = 'pg_catalog'::regnamespace
    where d.datname = current_database()
    union all
    select oid, 'collation ' || oid::regcollation, collversion, pg_collation_actual_version(oid),
      format('alter collation %s refresh version', oid::regcollation)
    from pg_collation where collversion is not null)
  select subject, recorded, actual, refresh, array(
    select i.indexrelid::regclass::text from pg_index i
    join pg_class x on x.oid = i.indexrelid and x.relkind = 'i' join pg_class t on t.oid = i.indrelid
    where known.oid = any (i.indcollation) and x.relpersistence <> 't' and t.relkind in ('r', 'm')
      and t.relnamespace in (select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema')
    order by 1) as indexes
  from known where recorded <> actual order by subject collate "C"`

/** One that nothing is sorted by does no harm, and stands in hundreds in each database. */
async function changed(ask: Ask): Promise<Collation[]> {
  const rows = await ask<Collation>(CHANGED)
  return rows.filter(({ indexes }) => indexes.length > 0)
}

export const collations = (ground: Ground): Fix => ({
  ...WORDS,
  automatic: false,
  async detect(tx) {
    const ask = askIn(tx)
    if (!(await ground.committed(ask))) return { findings: [], looked_at: 0 }
    const found = await changed(ask)
    return {
      findings: found.map(({ subject, recorded, actual, indexes }) => ({
        tenant_id: null,
        subject,
        measured: { version: actual, indexes: indexes.length },
        expected: { version: recorded },
      })),
      // Most are of no use to anybody.
      looked_at: Math.max(1, found.length),
    }
  },
  repair: (finding) =>
    ground.owner.withoutTransaction(async (ask) => {
      const found = (await changed(ask)).find(({ subject }) => subject === finding.subject)
      if (!found) return 'already gone'
      for (const index of found.indexes) await unhurried(ask, `reindex index concurrently ${index}`)
      // Last: broken off before, it is found again.
      await ask(found.refresh)
      return 'repaired'
    }),
})
