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
      summary: "Get the caller's preferences",
      description:
        'Returns the theme and the settings of the caller, with defaults where nothing was saved.',

      handle: ({ caller }) => preferences.get(caller),
    }),
    operation({
      ...common,
      method: 'PUT',
      path: '/api/preferences',
      id: 'updatePreferences',
      summary: "Change the caller's preferences",
      description:
        'Replaces the theme, the settings or both. Fields that are left out keep their value.',
      records: ['preferences.updated'],
      body: PreferencesChange,
      example: { body: { theme: 'light', settings: { rows: 50 } } },
      handle: ({ caller, body }) => preferences.update(caller, body),
    }),
    operation({
      ...common,
      method: 'PUT',
      path: '/api/preferences/theme',
      id: 'updateTheme',
      summary: "Change the caller's theme",
      description: 'Sets the theme and keeps the other preferences.',
      records: ['preferences.updated'],
      body: ThemeChange,
      example: { answer: { theme: 'dark' }, body: { theme: 'dark' } },
      handle: ({ caller, body }) => preferences.update(caller, body),
    }),
  ]
}
