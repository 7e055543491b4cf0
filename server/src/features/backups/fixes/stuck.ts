/** Jobs of backups that nobody is at, though their rows say so: nobody else begins one meanwhile. */
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Finding, Fix, Repaired } from '../../../platform/fix.ts'
import { idIn } from '../../../platform/subject.ts'
import { findAbandoned } from '../work/work.store.ts'
import { type BuryDeps, bury } from '../work/worker.ts'
import { fail } from './fail.ts'
import * as store from './fixes.store.ts'

/** Any process that works buries such a job within 2 seconds. */
const AGAIN_MS = 4_000

export function stuck(deps: BuryDeps): Fix {
  return {
    key: 'backups.stuck',
    title: 'A backup or a restore runs that no process is at',
    description:
      'Its process has died, and none of the role worker has looked since. Until it is ended, nobody can ' +
      'begin another one of its kind. Or a restore died that was taking its safety backup, whose entry ' +
      'waits for ever.',
    severity: 'medium',
    automatic: true,
    plan:
      'Ends the job, or the entry, as failed, deletes what it has written, and says so in the journal. Ask ' +
      'for it again.',
    async detect(tx) {
      const looked_at = await store.countUnfinished(tx)
      const unfinished = (await store.listUnfinished(tx)).map(findingOfEntry)
      const first = await store.listStuck(tx)
      if (first.length === 0) return { findings: unfinished, looked_at }
      // As whoever works would do it by itself.
      await deps.db.clock.delay(AGAIN_MS)
      const ids = new Set(first.map(({ id }) => id))
      const left = (await store.listStuck(tx)).filter(({ id }) => ids.has(id))
      return { findings: [...left.map(findingOf), ...unfinished], looked_at }
    },
    async repair(finding, repairing) {
      if (finding.subject.startsWith('backup ')) return repairing((tx) => failEntry(tx, finding))
      const abandoned = await repairing(findAbandoned)
      const job = abandoned.find(({ id }) => id === idIn(finding))
      if (!job) return 'already gone'
      await bury(deps, job)
      return 'repaired'
    },
  }
}

function findingOf({ id, kind, tenant_id, progress, started_at }: store.StuckJob): Finding {
  return {
    tenant_id,
    subject: `job ${id}`,
    measured: { kind, status: 'running', at_work: false, progress },
    expected: { at_work: true },
    since: started_at,
  }
}

function findingOfEntry({ id, tenant_id, type, created_at }: store.Entry): Finding {
  return {
    tenant_id,
    subject: `backup ${id}`,
    measured: { type, status: 'unfinished', has_job: false },
    expected: { has_job: true },
    since: created_at,
  }
}

async function failEntry(tx: TenantTx, finding: Finding): Promise<Repaired> {
  const id = idIn(finding)
  const isLeft = (await store.listUnfinished(tx)).some((one) => one.id === id)
  if (!isLeft) return 'already gone'
  return fail(tx, id, ['queued', 'running'], 'The restore that began it ended before it was done')
}
