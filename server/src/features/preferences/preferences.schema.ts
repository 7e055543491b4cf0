import Type, { type Static } from 'typebox'
import { FreeForm, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'

const Theme = OneOf(['light', 'dark', 'system'])

export const Preferences = Type.Object(
  {
    theme: Theme,
    settings: { ...FreeForm, examples: [{ rows: 50 }] },
    updated_at: Nullable(Timestamp),
  },
  { $id: 'Preferences' },
)
export type Preferences = Static<typeof Preferences>

export const PreferencesChange = Type.Object({
  theme: Type.Optional(Theme),
  settings: Type.Optional(FreeForm),
})
export type PreferencesChange = Static<typeof PreferencesChange>

export const ThemeChange = Type.Object({ theme: Theme })
