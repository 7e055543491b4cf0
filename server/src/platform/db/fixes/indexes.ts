/** The fix of indexes that are missing, invalid or other than the schema says: built while others read and write. */
import type { Fix } from '../../fix.ts'
import type { Words } from './drift.ts'
import { askIn, type Ground } from './ground.ts'
import { mendIndex } from './index-build.ts'
import { type Indexes, type IndexFault, indexFaults, readIndexes } from './index-state.ts'
import { type Ask, readLive, type Schema } from './schema.ts'

const WORDS: Words = {
  key: 'database.indexes',
  title: 'Indexes are missing or invalid',
  description:
    'An index of the schema is missing, has another definition, lacks on a partition or is invalid, as a build that was broken off leaves it; or a repair has left one behind. How it is stored is no difference. Lists become slow, and what a unique index holds is not held.',
  severity: 'high',
  plan: 'Drops what is invalid, and builds the index concurrently, on a partitioned table on each partition: nobody waits for it. One that is other stays until the right one beside it is built; then both change places in one short transaction, which gives way where the table is held. It takes as long as the table is large, and waits for transactions that are open.',
  runbook: 'schema-drift.md',
}

export const indexes = (ground: Ground): Fix => ({
  ...WORDS,
  automatic: false,
  async detect(tx) {
    const ask = askIn(tx)
    const committed = await ground.committed(ask)
    if (!committed) return { findings: [], looked_at: 0 }
    const { faults, found } = await look(ask, committed)
    const findings = faults.map(({ subject, state, statement, lacking }) => ({
      tenant_id: null,
      subject,
      measured: { state, ...(lacking.length > 0 ? { partitions: lacking.length } : {}) },
      expected: statement ? { statement: statement.text } : { state: 'absent' },
    }))
    return { findings, looked_at: found.indexes.length }
  },
  repair: ({ subject }) =>
    ground.owner.withoutTransaction(async (ask) => {
      const committed = await ground.committed(ask)
      if (!committed) throw new Error('the database has the schema of another release')
      const { faults, found } = await look(ask, committed)
      const fault = faults.find((one) => one.subject === subject)
      if (!fault) return 'already gone'
      await mendIndex(ask, ground.clock, fault, found)
      return 'repaired'
    }),
})

interface Looked {
  faults: IndexFault[]
  found: Indexes
}

async function look(ask: Ask, committed: Schema): Promise<Looked> {
  const live = await readLive(ask, [])
  const found = await readIndexes(ask)
  return { faults: indexFaults(committed, live, found), found }
}
