export { openSiem } from './siem.ts'
