/** What the composition root uses of the messenger. */
export { openMessenger } from './messenger.ts'
