/** What other features may use of patients. */
export { countPatients, insertPatients, type NewPatient } from './patients.store.ts'
