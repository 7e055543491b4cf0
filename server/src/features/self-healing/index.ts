/** What the composition root uses of self-healing. */
export { SELF_HEALING_TABLES } from './self-healing.table.ts'
export { openSelfHealing } from './self-healing.ts'
