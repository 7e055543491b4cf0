/** The catalogue of fixes as people see it: listed, confirmed, taken out, seeded, counted. */
import { isoAt } from '../../lib/clock.ts'
import { orNotFound } from '../../lib/problems.ts'
import type { Time } from '../../lib/time.ts'
import type { Admin, Superadmin } from '../../platform/access/index.ts'
import { forCaller, type Scopes } from '../../platform/db/index.ts'
import type { Fix as Known } from '../../platform/fix.ts'
import { actorOf, append, SYSTEM } from '../../platform/journal/index.ts'
import { type ConfirmDeps, confirm } from './confirm/confirm.ts'
import type { Fix, FixPage, FixStats, Seeded } from './fixes.schema.ts'
import type { FixRow } from './fixes.store.ts'
import * as store from './fixes.store.ts'
import { type Shown, showFindings } from './look/findings.store.ts'
import { SEVERITIES, STATUSES } from './self-healing.table.ts'
import { forOperators, forTenant } from './views.ts'

/** Findings that are shown of a fix. */
const SHOWN = 20
/** The most that a page holds; there are fewer fixes. */
const LIMIT = 100

export interface Fixes {
  list(caller: Admin): Promise<FixPage>
  /** Repairs what is found now. @throws Problem 404, and 409 for one that is not proposed */
  confirm(caller: Superadmin, id: number): Promise<Fix>
  /** Confirms the fix of a key for the operator of the server. @throws Problem as `confirm` */
  confirmByKey(key: string): Promise<FixRow>
  /** @throws Problem 404 */
  remove(caller: Superadmin, id: number): Promise<void>
  seed(caller: Superadmin, overwrite: boolean): Promise<Seeded>
  stats(caller: Admin): Promise<FixStats>
}

export interface FixesDeps extends ConfirmDeps {
  db: Scopes
  clock: Time
  fixes: ReadonlyMap<string, Known>
  /** Told when a fix may have another state. */
  changed(): Promise<unknown>
}

export function fixesService(deps: FixesDeps): Fixes {
  const { db, clock, fixes, changed } = deps
  const keys = [...fixes.keys()]

  /** The fixes as the caller may see them; the second transaction sees no other tenant's findings. */
  async function views(caller: Admin): Promise<Fix[]> {
    const rows = await db.acrossTenants((tx) => store.listFixes(tx, keys), 'read')
    const shown = Map.groupBy(
      await forCaller(db, caller, (tx) => showFindings(tx, SHOWN), 'read'),
      ({ fix_id }) => fix_id,
    )
    const view = caller.role === 'superadmin' ? forOperators : forTenant
    return rows.map((row) => view(row, known(row.key), shown.get(row.id) ?? NONE))
  }

  const known = (key: string) => fixes.get(key) as Known

  return {
    async list(caller) {
      const items = await views(caller)
      const total = items.length
      return { items, total, page: 1, limit: LIMIT, pages: Math.ceil(total / LIMIT), next: null }
    },

    async confirm(caller, id) {
      await confirm(deps, actorOf(caller), id)
      await changed()
      const all = await views(caller)
      return orNotFound(
        all.find((fix) => fix.id === id),
        'fix',
      )
    },

    async confirmByKey(key) {
      const rows = () => db.acrossTenants((tx) => store.listFixes(tx, keys), 'read')
      const find = async () =>
        orNotFound(
          (await rows()).find((row) => row.key === key),
          'fix',
        )
      await confirm(deps, SYSTEM, (await find()).id)
      await changed()
      return find()
    },

    async remove(caller, id) {
      await db.acrossTenants(async (tx) => {
        const fix = orNotFound(await store.findFix(tx, id, keys), 'fix')
        if (!(await store.deleteFix(tx, id, isoAt(clock)))) return
        await append(tx, actorOf(caller), {
          action: 'self_healing.deleted',
          tenant_id: caller.tenant_id,
          resource_type: 'fix',
          resource_id: id,
          changes: { key: fix.key },
        })
      })
      await changed()
    },

    async seed(caller, overwrite) {
      const all = [...fixes.values()]
      const seeded = await db.acrossTenants(async (tx) => {
        const updated = overwrite ? await store.reset(tx, all) : 0
        const created = (await store.undelete(tx, all)) + (await store.insertMissing(tx, all))
        if (created + updated > 0)
          await append(tx, actorOf(caller), {
            action: 'self_healing.seeded',
            tenant_id: caller.tenant_id,
            resource_type: 'fix',
            changes: { created, updated, overwrite },
          })
        return { created, updated, skipped: all.length - created - updated }
      })
      await changed()
      return seeded
    },

    async stats(caller) {
      const all = await views(caller)
      return {
        total: all.length,
        by_status: countBy(STATUSES, all, ({ status }) => status),
        by_severity: countBy(SEVERITIES, all, ({ severity }) => severity),
        occurrences: all.reduce((sum, { occurrences }) => sum + occurrences, 0),
        ...(caller.role === 'superadmin'
          ? await db.acrossTenants((tx) => store.howItGoes(tx, keys), 'read')
          : { success_rate: null, last_scan: null }),
      }
    },
  }
}

const NONE: readonly Shown[] = []

function countBy<const Names extends readonly string[]>(
  names: Names,
  fixes: readonly Fix[],
  of: (fix: Fix) => Names[number],
): Record<Names[number], number> {
  const counts = names.map((name) => [name, fixes.filter((fix) => of(fix) === name).length])
  return Object.fromEntries(counts)
}
