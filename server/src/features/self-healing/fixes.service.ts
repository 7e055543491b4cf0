/** Lists, confirms, deletes, seeds and counts fixes. Called by the API operations. */
import { isoAt } from '../../lib/clock.ts'
import { orNotFound } from '../../lib/problems.ts'
import type { Time } from '../../lib/time.ts'
import type { Admin, Superadmin } from '../../platform/access/index.ts'
import { forCaller, type Scopes } from '../../platform/db/index.ts'
import type { Fix as Known } from '../../platform/feature/fix.ts'
import { actorOf, append, SYSTEM } from '../../platform/journal/index.ts'
import { type ConfirmDeps, confirmFinding } from './confirm/confirm.ts'
import { type Shown, showFindings } from './detect/findings.store.ts'
import type { FixPage, FixStats, FixView, Seeded } from './fixes.schema.ts'
import type { FixRow } from './fixes.store.ts'
import * as store from './fixes.store.ts'
import { findHealingNames } from './names.ts'
import { FIX_STATUSES, SEVERITIES } from './self-healing.table.ts'
import { forOperators, forTenant } from './views.ts'

/** The maximum number of findings shown for each fix. */
const SHOWN = 20
/** The page size of the list. All fixes fit on one page. */
const LIMIT = 100

export interface Fixes {
  list(caller: Admin): Promise<FixPage>
  /** Repairs the current findings of a fix. @throws Problem 404 if it is unknown, 409 if it is not proposed */
  confirm(caller: Superadmin, id: number): Promise<FixView>
  /** Confirms the fix on behalf of the server's operator. @throws Problem for the same reasons as `confirm` */
  confirmByKey(key: string): Promise<FixRow>
  /** Deletes a fix. @throws Problem 404 if the fix is unknown */
  remove(caller: Superadmin, id: number): Promise<void>
  seed(caller: Superadmin, overwrite: boolean): Promise<Seeded>
  stats(caller: Admin): Promise<FixStats>
}

export interface FixesDeps extends ConfirmDeps {
  db: Scopes
  clock: Time
  fixes: ReadonlyMap<string, Known>
  /** Called after an operation that may have changed a fix. */
  changed(): Promise<unknown>
}

export function fixesService(deps: FixesDeps): Fixes {
  const { db, clock, fixes, changed } = deps
  const keys = [...fixes.keys()]

  /** Returns the fixes. Findings are read in the caller's scope, so that those of other tenants stay hidden. */
  async function views(caller: Admin): Promise<FixView[]> {
    const rows = await db.acrossTenants((tx) => store.listFixes(tx, keys), 'read')
    const confirmers = rows.flatMap(({ applied_by }) => applied_by ?? [])
    const { findings, names } = await forCaller(
      db,
      caller,
      async (tx) => {
        const findings = await showFindings(tx, SHOWN)
        return { findings, names: await findHealingNames(tx, findings, confirmers) }
      },
      'read',
    )
    const shown = Map.groupBy(findings, ({ fix_id }) => fix_id)
    const view = caller.role === 'superadmin' ? forOperators : forTenant
    return rows.map((row) => view(row, known(row.key), shown.get(row.id) ?? NONE, names))
  }

  const known = (key: string) => fixes.get(key) as Known

  return {
    async list(caller) {
      const items = await views(caller)
      const total = items.length
      return { items, total, page: 1, limit: LIMIT, pages: Math.ceil(total / LIMIT), next: null }
    },

    async confirm(caller, id) {
      await confirmFinding(deps, actorOf(caller), id)
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
      await confirmFinding(deps, SYSTEM, (await find()).id)
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
        by_status: countBy(FIX_STATUSES, all, ({ status }) => status),
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
  fixes: readonly FixView[],
  of: (fix: FixView) => Names[number],
): Record<Names[number], number> {
  const counts = names.map((name) => [name, fixes.filter((fix) => of(fix) === name).length])
  return Object.fromEntries(counts)
}
