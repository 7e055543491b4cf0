/** What the composition root and other features may use of patients. */

export { insertPatients, type NewPatient } from './patients.store.ts'
export { openPatients } from './patients.ts'
