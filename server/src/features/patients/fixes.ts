import { type Fix, idIn } from '../../platform/feature/fix.ts'
import { countCached, forgetFaults, listFaults } from './cache/faults.store.ts'

const MOST = 1_000

const CACHE: Fix = {
  key: 'patients.cache',
  title: 'Cached patients differ from the database',
  description:
    'The cached patient of a node differs from the database, because a change notification was lost or rows were ' +
    'changed by hand. Requests to that node return outdated data until the entry ' +
    'expires.',
  severity: 'high',
  automatic: true,
  plan: 'Removes the patient from the cache of every node. The next read loads the patient from the database.',
  async detect(tx) {
    const found = await listFaults(tx, MOST)
    return {
      findings: found.map(({ tenant_id, patient_id, nodes, since, ...fault }) => ({
        tenant_id,
        subject: `patient ${patient_id}`,
        measured: { version: fault.held_version, differs: fault.differs.join(', '), nodes },
        expected: { version: fault.version },
        since,
      })),
      looked_at: await countCached(tx),
    }
  },
  repair: (finding, repairing) =>
    repairing(async (tx) => {
      const id = Number(idIn(finding))
      tx.invalidate(`patient:${id}`)
      return (await forgetFaults(tx, id)) ? 'repaired' : 'already gone'
    }),
}

export const PATIENT_FIXES: readonly Fix[] = [CACHE]
