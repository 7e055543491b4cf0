/** The faults that patients can find in themselves. */
import type { Fix } from '../../platform/fix.ts'
import { idIn } from '../../platform/subject.ts'
import { countHeld, forgetFaults, listFaults } from './cache/faults.store.ts'

const MOST = 1_000

const CACHE: Fix = {
  key: 'patients.cache',
  title: 'Cached patients differ from the database',
  description:
    'A node holds a patient otherwise than the database has them: a change was not heard, or rows were ' +
    'changed without telling anybody. Who asks that node is shown what is no longer so, until the entry ' +
    'expires.',
  severity: 'high',
  automatic: true,
  plan: 'Has every node drop the patient from its cache; the next read asks the database.',
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
      looked_at: await countHeld(tx),
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
