export { deliveryCounts } from './stats.store.ts'
export { openStats } from './stats.ts'
