export { openHealth } from './health.ts'
