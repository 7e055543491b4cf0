import { integer, variable } from './variable.ts'

export const PATIENT_VARIABLES = {
  PATIENT_CACHE_MAX_ENTRIES: variable({
    meaning: 'Maximum decrypted patients that one process keeps in memory. 0 disables the cache.',
    default: '100000',
    read: integer(100_000, 0, 10_000_000),
  }),
  PATIENT_CACHE_MAX_BYTES: variable({
    meaning: 'Maximum bytes of the patients in memory',
    default: '134217728',
    read: integer(134_217_728, 0, 1_099_511_627_776),
  }),
  PATIENT_CACHE_TTL_SECONDS: variable({
    meaning: 'Maximum seconds that a patient stays in memory',
    default: '900',
    read: integer(900, 1, 86_400),
  }),
  PATIENT_PURGE_DAYS: variable({
    meaning:
      'Days during which a deleted patient can be restored. Afterwards the record is destroyed.',
    default: '30',
    read: integer(30, 1, 3650),
  }),
}
