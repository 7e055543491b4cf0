/** Exports the self-healing feature to the composition root. */
export { SELF_HEALING_TABLES } from './self-healing.table.ts'
export { openSelfHealing } from './self-healing.ts'
