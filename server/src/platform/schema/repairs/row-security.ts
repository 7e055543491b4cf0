/** Repairs tables and partitions without forced row-level security. */
import type { Fix } from '../../feature/fix.ts'
import { isOurs } from '../schema-queries.ts'
import { askIn, type Ground, RUNBOOK, requireCommitted, type Words } from './ground.ts'
import type { AskSchema, Schema } from './schema.ts'

const WORDS: Words = {
  key: 'database.row_security',
  title: 'A table or a partition lacks forced row-level security',
  description:
    'Row-level security of a table or partition is disabled or not forced for its owner, because the table was changed by hand. The second barrier between tenants is incomplete.',
  severity: 'critical',
  plan: 'Enables and forces row-level security on the table, in one transaction. The policies are not changed. `database.schema` reports policies that differ.',
  runbook: RUNBOOK,
}

/** Selects every table and partition, with the parent table of a partition as its `origin`. */
const TABLES = `
  select c.oid::regclass::text as "table", coalesce(i.inhparent, c.oid)::regclass::text as origin,
    c.relrowsecurity as enabled, c.relforcerowsecurity as forced
  from pg_class c left join pg_inherits i on i.inhrelid = c.oid and c.relispartition
  where c.relkind in ('r', 'p') and ${isOurs('c.relnamespace', 'pg_class', 'c.oid')}
  order by c.oid::regclass::text collate "C"`

interface Table {
  table: string
  origin: string
  enabled: boolean
  forced: boolean
}

const subjectOf = ({ table }: Table) => `row security of ${table}`
const isOpen = ({ enabled, forced }: Table) => !enabled || !forced

export const rowSecurity = (ground: Ground): Fix => ({
  ...WORDS,
  automatic: false,
  async detect(tx) {
    const ask = askIn(tx)
    const committed = await ground.committed(ask)
    const guarded = committed ? await readGuarded(ask, committed) : []
    return {
      findings: guarded.filter(isOpen).map((one) => ({
        tenant_id: null,
        subject: subjectOf(one),
        measured: { enabled: one.enabled, forced: one.forced },
        expected: { enabled: true, forced: true },
      })),
      looked_at: guarded.length,
    }
  },
  repair: ({ subject }) =>
    ground.inTransaction(async (ask) => {
      const guarded = await readGuarded(ask, await requireCommitted(ground, ask))
      const one = guarded.find((table) => subjectOf(table) === subject)
      if (!one || !isOpen(one)) return 'already gone'
      await ask(`alter table ${one.table} enable row level security, force row level security`)
      return 'repaired'
    }),
})

/** Reads the tables and partitions on which the release forces row-level security. */
async function readGuarded(ask: AskSchema, { statements }: Schema): Promise<Table[]> {
  const heads = new Set(
    statements.filter(({ kind }) => kind === 'row security').map(({ head }) => head),
  )
  return (await ask<Table>(TABLES)).filter(({ origin }) => heads.has(`table ${origin}`))
}
