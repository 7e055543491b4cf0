/** What the composition root and other features may use of patients. */

export { PURGED_PATIENTS } from './patients.table.ts'
export { openPatients } from './patients.ts'
export { GRANTS, PATIENTS } from './sealed.ts'
export { insertPatients, type NewDemoPatient } from './upkeep/made.ts'
