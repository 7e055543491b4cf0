/** What the composition root uses of the first start. */
export { announcement } from './announcement.ts'
export { type Bootstrapped, bootstrap } from './bootstrap.service.ts'
export { makeDemo } from './demo.service.ts'
