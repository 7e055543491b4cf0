/** Patients, put together. */
import type { Feature } from '../../platform/feature.ts'
import { countPatients, purgePatients } from './patients.store.ts'

export function openPatients(): Feature {
  return {
    name: 'patients',
    counts: { patients_count: countPatients },
    purgeRows: purgePatients,
  }
}
