/** What the composition root uses of health. */
export { openHealth } from './health.ts'
