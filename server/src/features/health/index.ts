/** What the composition root uses of health. */
export { healthOperations } from './health.routes.ts'
export { healthService } from './health.service.ts'
