/** Filters the rows of a table by tenant. The rows are in COPY's text format. */
import type { BackedUpTable } from './format.ts'

/** The tables that keep a tenant's rows when the tenant is purged, both in the database and in backups. */
const HISTORY: readonly string[] = ['journal', 'journal_resources']

/** Returns the index of the column that names the tenant; -1 if the table has no such column. */
const tenantField = ({ name, columns }: BackedUpTable): number =>
  columns.indexOf(name === 'tenants' ? 'id' : 'tenant_id')

/** Returns only the rows of one tenant. Returns all rows if the table has no tenant column. */
export function rowsOf(table: BackedUpTable, part: Buffer, tenantId: number): Buffer {
  const own = String(tenantId)
  return filtered(table, part, (tenant) => tenant === own).rows
}

/** Removes the rows of the given tenants. Returns the remaining rows, and the tenant id of each removed row. */
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
