import { sql } from 'kysely'
import type { TenantTx } from '../../platform/db/index.ts'
import type { Preferences } from './preferences.schema.ts'
import './preferences.table.ts'

const COLUMNS = [sql<Preferences['theme']>`theme`.as('theme'), 'settings', 'updated_at'] as const

export function findPreferences(tx: TenantTx, userId: number): Promise<Preferences | undefined> {
  return tx.db
    .selectFrom('preferences')
    .select(COLUMNS)
    .where('tenant_id', '=', tx.tenantId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

/** Saves the given fields and keeps all others. One statement merges them, so concurrent saves lose no fields. */
export function savePreferences(
  tx: TenantTx,
  user: { user_id: number; tenant_id: number },
  change: Partial<Pick<Preferences, 'theme' | 'settings'>>,
  defaults: Pick<Preferences, 'theme' | 'settings'>,
): Promise<Preferences> {
  const settings = JSON.stringify(change.settings ?? defaults.settings)
  return tx.db
    .insertInto('preferences')
    .values({ ...user, theme: change.theme ?? defaults.theme, settings })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet({
        updated_at: sql`now()`,
        ...(change.theme ? { theme: change.theme } : {}),
        ...(change.settings ? { settings } : {}),
      }),
    )
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}
