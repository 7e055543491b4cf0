/** The rotation of keys, put together. */
import type { Needs } from '../../core.ts'
import { keyRotation, type SealedTable } from '../../platform/crypto/index.ts'
import type { Feature } from '../../platform/feature.ts'
import { encryptionOperations } from './encryption.routes.ts'
import { encryptionService } from './encryption.service.ts'
import { encryptionFixes } from './fixes.ts'
import { startSweep } from './sweep.ts'

type Core = Needs<'db' | 'log' | 'sealer' | 'keyRing' | 'changes'>

/** @param sealed all that data keys seal, of all features */
export function openEncryption(core: Core, sealed: readonly SealedTable[]): Feature {
  const deps = { ...core, keys: keyRotation(core.sealer), sealed }
  return {
    name: 'encryption',
    operations: encryptionOperations(encryptionService(deps)),
    conflicts: { encryption_rotations__one_at_a_time: 'rotation_running' },
    tables: { encryption_rotations: 'never touched', destroyed_keys: 'never touched' },
    fixes: encryptionFixes(deps),
    background: () => startSweep(deps),
  }
}
