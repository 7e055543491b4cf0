/** What the composition root uses of the first start. */
export { DEMO } from './demo.service.ts'
export { openSetup } from './setup.ts'
