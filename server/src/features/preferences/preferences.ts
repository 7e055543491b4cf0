import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { preferenceOperations } from './preferences.routes.ts'
import { preferencesService } from './preferences.service.ts'
import { PREFERENCE_COLUMNS, PREFERENCE_TABLES } from './preferences.table.ts'

export function openPreferences({ db }: Needs<'db'>): Feature {
  return {
    name: 'preferences',
    tables: PREFERENCE_TABLES,
    columns: PREFERENCE_COLUMNS,
    operations: preferenceOperations(preferencesService(db)),
  }
}
