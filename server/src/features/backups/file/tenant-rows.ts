/** Whose rows of COPY's text format are. */
import type { BackedUpTable } from './format.ts'

/** What tells of the past stays when a tenant is purged, in the database as in a backup. */
const HISTORY: readonly string[] = ['journal', 'journal_resources']

/** Where a row of the table names its tenant; -1 where rows are of none. */
const tenantField = ({ name, columns }: BackedUpTable): number =>
  columns.indexOf(name === 'tenants' ? 'id' : 'tenant_id')

/** The rows of a tenant, and those of tables that know none. */
export function rowsOf(table: BackedUpTable, part: Buffer, tenantId: number): Buffer {
  const own = String(tenantId)
  return filtered(table, part, (tenant) => tenant === own).rows
}

/** The rows of all others but these tenants, with whose those are that are left out, row by row. */
export function rowsWithout(
  table: BackedUpTable,
  part: Buffer,
  tenants: ReadonlySet<number>,
): Filtered {
  if (tenants.size === 0 || HISTORY.includes(table.name)) return { rows: part, left: [] }
  return filtered(table, part, (tenant) => !tenants.has(Number(tenant)))
}

interface Filtered {
  rows: Buffer
  left: number[]
}

function filtered(
  table: BackedUpTable,
  part: Buffer,
  isWanted: (tenant: string) => boolean,
): Filtered {
  const field = tenantField(table)
  if (field < 0) return { rows: part, left: [] }
  const left: number[] = []
  const lines = part.toString('latin1').split('\n').slice(0, -1)
  const kept = lines.filter((line) => {
    const tenant = line.split('\t', field + 1)[field] ?? ''
    const wanted = isWanted(tenant)
    if (!wanted) left.push(Number(tenant))
    return wanted
  })
  if (left.length === 0) return { rows: part, left }
  return { rows: Buffer.from(kept.map((line) => `${line}\n`).join(''), 'latin1'), left }
}
