/** The faults that the rotation of keys can find in itself. */
import type { TenantTx } from '../../platform/db/index.ts'
import type { Detected, Fix } from '../../platform/fix.ts'
import { SYSTEM } from '../../platform/journal/index.ts'
import type { Rotation } from './encryption.schema.ts'
import { note } from './encryption.service.ts'
import * as store from './fixes.store.ts'
import * as rotations from './rotations.store.ts'
import { type SweepDeps, startSweep } from './sweep.ts'

/** A sweep that works seals something every few seconds, whatever else the service does. */
const STILL_MINUTES = 15
/** How long a repair watches what becomes of it. */
const WATCH_MS = 20_000
const LOOK_MS = 100

export function encryptionFixes(deps: SweepDeps): readonly Fix[] {
  return [stopped(deps), leftBehind(deps)]
}

const NOTHING: Detected = { findings: [], looked_at: 1 }

function stopped(deps: SweepDeps): Fix {
  return {
    key: 'encryption.stopped',
    title: 'A rotation of keys has stopped midway',
    description:
      'Some records could not be sealed anew, or no process seals any. Until the rotation ends the old ' +
      'keys are not destroyed, so what it was for has not come about, and no other rotation begins.',
    severity: 'high',
    automatic: false,
    plan:
      'Goes on with the rotation, as asking for it again does, and seals on this node too. Where records ' +
      'do not open, the log names them: they have to be put back from a backup first.',
    runbook: 'before-confirming.md',
    async detect(tx) {
      const rotation = await store.findStopped(tx, STILL_MINUTES)
      if (!rotation) return NOTHING
      const { rotation_id, since, ...measured } = rotation
      // Waiting for a long transaction, such as a backup's, before it destroys the old keys is no fault.
      if (measured.status === 'running' && (await store.countLeft(tx, deps.sealed)).length === 0)
        return NOTHING
      const expected = { status: 'completed', records_failed: 0 }
      const finding = { tenant_id: null, subject: `rotation ${rotation_id}`, measured, expected }
      return { findings: [{ ...finding, since }], looked_at: 1 }
    },
    async repair(_finding, repairing) {
      const rotation = await repairing(async (tx) => {
        await rotations.lockRotations(tx)
        const found = await store.findStopped(tx, STILL_MINUTES)
        return found && goOn(tx, await rotations.resume(tx, found.rotation_id))
      })
      if (!rotation) return 'already gone'
      await watch(deps, rotation)
      return 'repaired'
    },
  }
}

function leftBehind(deps: SweepDeps): Fix {
  const look = async (tx: TenantTx) => {
    const last = await rotations.findLatest(tx)
    // That one's own business: it is at it, or has stopped.
    if (last?.status === 'running' || last?.status === 'failed') return undefined
    const { keys, since } = await store.countRetired(tx)
    return since === null
      ? undefined
      : { keys, since, left: await store.countLeft(tx, deps.sealed) }
  }
  return {
    key: 'encryption.left_behind',
    title: 'Retired keys are there, and no rotation that would end them',
    description:
      'Records are sealed by keys that a rotation has retired, and that rotation is gone: as after a ' +
      'backup that was made in the middle of one was restored into an empty database. The records open, ' +
      'but nobody takes the old keys away.',
    severity: 'medium',
    automatic: false,
    plan: 'Begins a sweep to the keys that seal now: all is sealed anew, and the retired keys are destroyed.',
    runbook: 'before-confirming.md',
    async detect(tx) {
      const found = await look(tx)
      if (!found) return NOTHING
      const { keys, since, left } = found
      const records = left.reduce((sum, one) => sum + one.records, 0)
      const tables = left.map(({ table }) => table).join(', ')
      const measured = { retired_keys: keys, records, tables }
      const expected = { retired_keys: 0, records: 0 }
      const finding = { tenant_id: null, subject: 'retired keys', measured, expected, since }
      return { findings: [finding], looked_at: 1 }
    },
    async repair(_finding, repairing) {
      const rotation = await repairing(async (tx) => {
        await rotations.lockRotations(tx)
        const found = await look(tx)
        if (!found) return undefined
        const total = found.left.reduce((sum, { records }) => sum + records, 0)
        return goOn(tx, await rotations.insertRotation(tx, await store.currentKek(tx), total))
      })
      if (!rotation) return 'already gone'
      await watch(deps, rotation)
      return 'repaired'
    },
  }
}

async function goOn(tx: TenantTx, rotation: Rotation): Promise<Rotation> {
  // Wakes whoever works.
  tx.invalidate('keys')
  await note(tx, SYSTEM, 'started', rotation)
  return rotation
}

/**
 * Seals on this node until the rotation is over, or for a while: one that is large goes on by itself.
 * @throws Error with why it has failed, or that nothing gets on
 */
async function watch(deps: SweepDeps, before: Rotation): Promise<void> {
  const sweep = startSweep(deps)
  try {
    let now = before
    for (let waited = 0; now.status === 'running' && waited < WATCH_MS; waited += LOOK_MS) {
      await deps.db.clock.delay(LOOK_MS)
      now = (await deps.db.acrossTenants(rotations.findLatest, 'read')) ?? now
    }
    if (now.status === 'failed') throw new Error(now.reason ?? 'it has failed again')
    if (now.status === 'running' && now.records_done === before.records_done)
      throw new Error('nothing could be sealed anew; the log of the nodes says why')
  } finally {
    await sweep.stop()
  }
}
