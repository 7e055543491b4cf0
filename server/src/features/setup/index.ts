/** Public exports of the setup feature for the composition root. */
export { DEMO } from './demo.service.ts'
export { openSetup } from './setup.ts'
