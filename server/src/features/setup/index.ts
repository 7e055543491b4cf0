/** What the composition root uses of the first start. */
export { openSetup } from './setup.ts'
