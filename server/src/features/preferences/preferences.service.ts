/** A user's own preferences. */

import type { Caller } from '../../platform/access/index.ts'
import type { Scopes } from '../../platform/db/index.ts'
import { actorOf, append } from '../../platform/journal/index.ts'
import type { Preferences, PreferencesChange } from './preferences.schema.ts'
import * as store from './preferences.store.ts'

const DEFAULTS = { theme: 'system', settings: {} } as const

export interface PreferencesService {
  get(caller: Caller): Promise<Preferences>
  update(caller: Caller, change: PreferencesChange): Promise<Preferences>
}

export function preferencesService(db: Scopes): PreferencesService {
  const get = async (caller: Caller): Promise<Preferences> =>
    (await db.inTenant(
      caller.tenant_id,
      (tx) => store.findPreferences(tx, caller.user_id),
      'read',
    )) ?? {
      ...DEFAULTS,
      updated_at: null,
    }

  return {
    get,
    async update(caller, change) {
      if (Object.keys(change).length === 0) return get(caller)
      return db.inTenant(caller.tenant_id, async (tx) => {
        const { user_id, tenant_id } = caller
        const saved = await store.savePreferences(tx, { user_id, tenant_id }, change, DEFAULTS)
        await append(tx, actorOf(caller), {
          action: 'preferences.updated',
          tenant_id,
          resource_type: 'preferences',
          resource_id: user_id,
          // Which, not what: settings are the user's own, and free-form.
          changes: { fields: Object.keys(change) },
        })
        return saved
      })
    },
  }
}
