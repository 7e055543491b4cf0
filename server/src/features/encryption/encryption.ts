import type { Needs } from '../../core.ts'
import { keyRotation, type SealedTable } from '../../platform/crypto/index.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { encryptionOperations } from './encryption.routes.ts'
import { encryptionService } from './encryption.service.ts'
import { encryptionFixes } from './fixes.ts'
import { encryptionAttention } from './overview.ts'
import { startSweep } from './re-encryption.ts'
import { ROTATION_JOBS } from './rotations.store.ts'

type Core = Needs<'db' | 'log' | 'sealer' | 'keyRing' | 'changes'>

/** @param sealed the tables of all features whose columns are encrypted with data keys */
export function openEncryption(core: Core, sealed: readonly SealedTable[]): Feature {
  const deps = { ...core, keys: keyRotation(core.sealer), sealed }
  return {
    name: 'encryption',
    operations: encryptionOperations(encryptionService(deps)),
    conflicts: { encryption_rotations__one_at_a_time: 'rotation_running' },
    tables: { encryption_rotations: 'never touched', destroyed_keys: 'never touched' },
    attention: encryptionAttention(sealed.map(({ table }) => table)),
    jobs: [{ kinds: ['rotation'], select: ROTATION_JOBS, isOfInstallation: true }],
    fixes: encryptionFixes(deps),
    background: () => startSweep({ ...deps, db: deps.db.withPatience() }),
  }
}
