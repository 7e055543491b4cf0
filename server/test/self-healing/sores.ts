/** A fix for an artificial fault. Each open row of the table `sores` is a finding, and the repair closes the row. */
import { sql } from 'kysely'
import type { TenantTx } from '../../src/platform/db/index.ts'
import type { Finding, Fix } from '../../src/platform/feature/fix.ts'

interface Sore {
  name: string
  tenant_id: number | null
}

export const openSores = async (tx: TenantTx, after = ''): Promise<Sore[]> =>
  (
    await sql<Sore>`select name, tenant_id from sores where is_open and name > ${after}
      order by name`.execute(tx.db)
  ).rows

export const findingOf = ({ name, tenant_id }: Sore): Finding => ({
  tenant_id,
  subject: name,
  measured: { is_open: true },
  expected: { is_open: false },
})

/** Repairs a finding: closes its sore. */
export const treat: NonNullable<Fix['repair']> = (finding, repairing) =>
  repairing(async (tx) => {
    const { rows } = await sql`update sores set is_open = false, treated = treated + 1
      where name = ${finding.subject} and is_open returning name`.execute(tx.db)
    return rows.length > 0 ? 'repaired' : 'already gone'
  })

/** Creates the fix for sores. Replaces the given parts of the fix. */
export const soreFix = (other: Partial<Fix> = {}): Fix => ({
  key: 'tests.sores',
  title: 'A sore is open',
  description: 'It was opened by a test.',
  severity: 'high',
  automatic: false,
  plan: 'Closes it.',
  detect: async (tx) => ({ findings: (await openSores(tx)).map(findingOf), looked_at: 1000 }),
  repair: treat,
  ...other,
})
