/** Public exports of the health feature for the composition root. */
export { openHealth } from './health.ts'
