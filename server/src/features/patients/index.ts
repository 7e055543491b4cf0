/** Public exports of the patients feature for the composition root and other features. */

export { PURGED_PATIENTS } from './patients.table.ts'
export { openPatients } from './patients.ts'
export { GRANTS, PATIENTS } from './sealed.ts'
export { insertPatients, type NewDemoPatient } from './upkeep/create-demo.ts'
