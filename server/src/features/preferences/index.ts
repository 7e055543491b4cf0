/** What the composition root uses of preferences. */
export { preferenceOperations } from './preferences.routes.ts'
export { preferencesService } from './preferences.service.ts'
