import type { Caller } from '../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../platform/db/index.ts'
import { actorOf, append, differing } from '../../platform/journal/index.ts'
import type { Preferences, PreferencesChange } from './preferences.schema.ts'
import * as store from './preferences.store.ts'

const DEFAULTS = { theme: 'system', settings: {} } as const

export interface PreferencesService {
  get(caller: Caller): Promise<Preferences>
  update(caller: Caller, change: PreferencesChange): Promise<Preferences>
}

export function preferencesService(db: Scopes): PreferencesService {
  const find = async (tx: TenantTx, { user_id }: Caller): Promise<Preferences> =>
    (await store.findPreferences(tx, user_id)) ?? { ...DEFAULTS, updated_at: null }

  return {
    get: (caller) => db.inTenant(caller.tenant_id, (tx) => find(tx, caller), 'read'),

    update: (caller, change) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const { user_id, tenant_id } = caller
        const before = await find(tx, caller)
        const fields = differing(before, change)
        if (fields.length === 0) return before
        const saved = await store.savePreferences(tx, { user_id, tenant_id }, change, DEFAULTS)
        await append(tx, actorOf(caller), {
          action: 'preferences.updated',
          tenant_id,
          resource_type: 'preferences',
          resource_id: user_id,
          // Journals only the names of the changed fields, because preferences are private and free-form.
          changes: { fields },
        })
        return saved
      }),
  }
}
