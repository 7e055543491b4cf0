/** What the composition root uses of preferences. */
export { openPreferences } from './preferences.ts'
