/** Public exports of the preferences feature for the composition root. */
export { openPreferences } from './preferences.ts'
