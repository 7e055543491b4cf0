/** The self-healing check for a key rotation that failed or stopped. */
import type { TenantTx } from '../../platform/db/index.ts'
import type { Detected, Fix } from '../../platform/feature/fix.ts'
import { SYSTEM } from '../../platform/journal/index.ts'
import type { Rotation } from './encryption.schema.ts'
import { note } from './encryption.service.ts'
import * as store from './fixes.store.ts'
import { type SweepDeps, startSweep } from './re-encryption.ts'
import * as rotations from './rotations.store.ts'

/**
 * How long a rotation may make no progress before it counts as stopped. Normally it makes progress every few seconds,
 * even under load.
 */
const STILL_MINUTES = 15
/** How long a repair waits for progress. */
const WATCH_MS = 20_000
const POLL_MS = 100

export function encryptionFixes(deps: SweepDeps): readonly Fix[] {
  return [stopped(deps)]
}

const NOTHING: Detected = { findings: [], looked_at: 1 }

function stopped(deps: SweepDeps): Fix {
  return {
    key: 'encryption.stopped',
    title: 'A key rotation has stopped before its end',
    description:
      'Some records could not be re-encrypted, or no process is re-encrypting. Until the rotation ends, the old ' +
      'keys are not destroyed and no other rotation can start.',
    severity: 'high',
    automatic: false,
    plan:
      'Resumes the key rotation, and re-encrypts on this node as well. Records that cannot be decrypted are ' +
      'listed in the log. Restore them from a backup first.',
    runbook: 'before-confirming.md',
    async detect(tx) {
      const rotation = await store.findStopped(tx, STILL_MINUTES)
      if (!rotation) return NOTHING
      const { rotation_id, since, ...measured } = rotation
      // Waiting for a long transaction, such as a backup, is not a fault once all data is re-encrypted.
      if (measured.status === 'running' && !(await store.isAnyLeft(tx, deps.sealed))) return NOTHING
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

async function goOn(tx: TenantTx, rotation: Rotation): Promise<Rotation> {
  // Notifies the re-encryption on every node.
  tx.invalidate('keys')
  await note(tx, SYSTEM, 'started', rotation)
  return rotation
}

/**
 * Re-encrypts on this node until the rotation ends, or for `WATCH_MS`. A large rotation continues in the background.
 * @throws Error with the cause if the rotation fails or makes no progress
 */
async function watch(deps: SweepDeps, before: Rotation): Promise<void> {
  const sweep = startSweep({ ...deps, db: deps.db.withPatience() })
  try {
    let now = before
    for (let waited = 0; now.status === 'running' && waited < WATCH_MS; waited += POLL_MS) {
      await deps.db.clock.delay(POLL_MS)
      now = (await deps.db.acrossTenants(rotations.findLatest, 'read')) ?? now
    }
    if (now.status === 'failed') throw new Error(now.reason ?? 'the rotation failed again')
    if (now.status === 'running' && now.records_done === before.records_done)
      throw new Error('no record could be re-encrypted. See the logs of the nodes for the cause')
  } finally {
    await sweep.stop()
  }
}
