/** `/api/preferences*`. */
import { signedIn } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { Preferences, PreferencesChange, ThemeChange } from './preferences.schema.ts'
import type { PreferencesService } from './preferences.service.ts'

export function preferenceOperations(preferences: PreferencesService): AnyOperation[] {
  const common = { tag: 'Profile', access: signedIn, success: [200, Preferences] } as const
  return [
    operation({
      ...common,
      method: 'GET',
      path: '/api/preferences',
      id: 'getPreferences',
      summary: "The caller's preferences",
      handle: ({ caller }) => preferences.get(caller),
    }),
    operation({
      ...common,
      method: 'PUT',
      path: '/api/preferences',
      id: 'updatePreferences',
      summary: "Changes the caller's preferences; what is left out stays",
      body: PreferencesChange,
      handle: ({ caller, body }) => preferences.update(caller, body),
    }),
    operation({
      ...common,
      method: 'PUT',
      path: '/api/preferences/theme',
      id: 'updateTheme',
      summary: "Changes the caller's theme",
      body: ThemeChange,
      handle: ({ caller, body }) => preferences.update(caller, body),
    }),
  ]
}
