/** Plans of list pages. Uses the statements as sent, and generic plans where the service uses them. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { auditList } from '../../src/features/audit/audit.schema.ts'
import { listEntries } from '../../src/features/audit/audit.store.ts'
import { departmentList } from '../../src/features/departments/departments.schema.ts'
import { listDepartments } from '../../src/features/departments/departments.store.ts'
import { accessList } from '../../src/features/patients/accesses/accesses.schema.ts'
import { listAccesses } from '../../src/features/patients/accesses/accesses.store.ts'
import { patientList } from '../../src/features/patients/patients.schema.ts'
import { listPatients } from '../../src/features/patients/search/search.store.ts'
import { userList } from '../../src/features/users/users.schema.ts'
import { listUsers } from '../../src/features/users/users.store.ts'
import { listDeliveries } from '../../src/features/webhooks/deliveries/deliveries.store.ts'
import { deliveryList } from '../../src/features/webhooks/webhooks.schema.ts'
import type { List, PageRequest } from '../../src/lib/page.ts'
import type { TenantTx } from '../../src/platform/db/index.ts'
import type { Statement } from '../../src/platform/db/statements.ts'
import { type PlanDatabase, planOf, statementsOf } from './explain.ts'
import { LARGE_TENANT, MUCH_READ_PATIENT } from './furnish.ts'

type Run = (tx: TenantTx, asked: PageRequest<any>) => Promise<unknown>

const lists: [string, List<any>, Run, scopes: readonly (number | null)[]][] = [
  ['users', userList, listUsers, [LARGE_TENANT, null]],
  ['departments', departmentList, listDepartments, [LARGE_TENANT]],
  ['audit', auditList, (tx, asked) => listEntries(tx, asked, {}), [LARGE_TENANT, null]],
  [
    'patients',
    patientList,
    (tx, asked) => listPatients(tx, asked, { sight: { condition: sql`true` } }),
    [LARGE_TENANT],
  ],
  ['deliveries', deliveryList(1), (tx, asked) => listDeliveries(tx, 1, {}, asked), [LARGE_TENANT]],
]

/** The parameter values. The time is the current one, because it must be within the partitions of the journal. */
const VALUES = { integer: 100, text: 'User 77', time: new Date().toISOString() }
const ADMIN = { role: 'admin' as const, tenant_id: LARGE_TENANT }

/**
 * Returns whether a plan has to sort. No index of the journal has this order, and the statement is planned for its
 * tenant (decision 0016).
 */
const isSorted = (name: string, sortBy: string, scope: number | null) =>
  name === 'audit' && sortBy === 'id' && scope !== null

const pages = lists.flatMap(([name, list, run, scopes]) =>
  scopes.flatMap((scope) =>
    Object.entries(list.sortable).flatMap(([sort_by, kind]) =>
      isSorted(name, sort_by, scope)
        ? []
        : (['asc', 'desc'] as const).flatMap((sort_order) =>
            ['the first page', 'a page after a cursor'].map((which) => {
              const key = [VALUES[kind], ...(sort_by === 'id' ? [] : [100])]
              const from =
                which === 'the first page'
                  ? undefined
                  : { key, page: 2, total: 0, estimated: false }
              const asked = { list, caller: ADMIN, query: { limit: 20, sort_by, sort_order }, from }
              const where = scope === null ? 'all tenants' : 'a tenant'
              return {
                title: `${which} of ${name} of ${where} by ${sort_by}, ${sort_order}`,
                scope,
                asked,
                run,
              }
            }),
          ),
    ),
  ),
)

const byId = { limit: 20, sort_by: 'id' as const, sort_order: 'asc' as const }

const ANY_TENANT_INDEX = 'users_(tenant_id_id_key|_\\w+)'

/** The filters that narrow the list of users, with the index that serves each. */
const USER_FILTERS: [filter: object, index: string][] = [
  [{ status: 'pending' }, 'users__pending'],
  [{ status: 'blocked' }, 'users__blocked'],
  [{ status: 'active' }, ANY_TENANT_INDEX],
  [{ is_active: false }, 'users__blocked'],
  [{ is_active: true }, ANY_TENANT_INDEX],
  [{ role: 'auditor' }, 'users__by_role'],
  [{ department_id: 7 }, 'users__by_department'],
  [{ email_verified: false }, 'users__unverified'],
  [{ email_verified: true }, ANY_TENANT_INDEX],
  [{ totp_enabled: true }, 'users__with_factor'],
  [{ totp_enabled: false }, 'users__without_factor'],
]

/** The statement of a search in the patients' tokens. */
async function searchStatement(): Promise<Statement> {
  const asked = {
    list: patientList,
    caller: ADMIN,
    query: { ...byId, search: 'x' },
    from: undefined,
  }
  const text = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)]
  const sight = { condition: sql<boolean>`true` }
  const [page] = await statementsOf(LARGE_TENANT, (tx) => listPatients(tx, asked, { sight, text }))
  return page as Statement
}

/** Plans a search on tables without statistics. */
export const planOfSearch = async (at: Pick<PlanDatabase, 'client'>) =>
  planOf(at, LARGE_TENANT, await searchStatement())

/** Declares the tests of list pages. `searchBefore` is the plan of a search while the tables were empty. */
export function listPlans(at: () => PlanDatabase, searchBefore: () => string): void {
  describe('a page of a list is read along an index, without sorting', () => {
    test.each(pages)('$title', async ({ scope, asked, run }) => {
      const [page] = await statementsOf(scope, (tx) => run(tx, asked))
      const plan = await planOf(at(), scope, page as Statement)
      expect(plan).toMatch(/Index( Only)? Scan/)
      // A scan of all tenants is acceptable, because few of them are deleted.
      expect(plan).not.toMatch(/(^|-> +)(Incremental )?Sort\b|Seq Scan on (?!tenants)|Bitmap/m)
      if (asked.from) expect(plan).toMatch(/Index Cond: .*ROW\(|Index Cond: .*(id|entry_id) [<>]/)
    })
  })

  test("a department's patients are read along an index by their ID", async () => {
    const caller = { role: 'doctor' as const, tenant_id: LARGE_TENANT }
    const asked = { list: patientList, caller, query: byId, from: undefined }
    const condition = sql<boolean>`patients.department_id = 7`
    const sight = { condition, narrowedTo: 'department 7' }
    const [page] = await statementsOf(LARGE_TENANT, (tx) => listPatients(tx, asked, { sight }))
    const plan = await planOf(at(), LARGE_TENANT, page as Statement)
    expect(plan).toMatch(/Index Scan using patients__by_department/)
    expect(plan).not.toMatch(/Sort/)
  })

  test('searched patients are found by their search tokens only, with and without statistics', async () => {
    const after = await planOfSearch(at())
    for (const plan of [searchBefore(), after]) {
      expect(plan).toMatch(/patient_tokens__by_token/)
      expect(plan).toMatch(/Index Cond: .*token = ANY/)
      expect(plan).toMatch(/Index Scan using patients_(pkey|_living) on patients/)
      expect(plan).not.toMatch(/Seq Scan/)
    }
    // On an empty table, PostgreSQL 15 estimates the same cost for any index.
    expect(after).toMatch(/Index Cond: .*id = ANY/)
  })

  test.each([
    ['the first page', undefined],
    ['a page after a cursor', ['9999-12-31T23:59:59.999Z', 100]],
  ])("%s of a patient's accesses are read along the indexes of that patient", async (_, key) => {
    const asked = {
      list: accessList,
      caller: ADMIN,
      query: { limit: 20, sort_by: 'created_at' as const, sort_order: 'desc' as const },
      from: key && { key, page: 2, total: 0, estimated: false },
    }
    const [page] = await statementsOf(LARGE_TENANT, (tx) =>
      listAccesses(tx, MUCH_READ_PATIENT, asked),
    )
    const plan = await planOf(at(), LARGE_TENANT, page as Statement)
    expect(plan).toMatch(/Index Only Scan Backward using journal_resources_\w+_pkey/)
    expect(plan).toMatch(/Index Scan Backward using journal_\w+_action_resource_type_resource_hash/)
    expect(plan).not.toMatch(/Join|_tenant_id_created_at_id_is_access_action_idx/)
  })

  test('users of other tenants are not read where there are few tenants', async () => {
    const caller = { role: 'admin' as const, tenant_id: 5 }
    const asked = { list: userList, caller, query: byId, from: undefined }
    const [page] = await statementsOf(5, (tx) => listUsers(tx, asked))
    const plan = await planOf(at(), 5, page as Statement, {
      furnishing: `truncate tenants, users cascade;
        insert into tenants (id, name, subdomain) select n, 't', 't' || n from generate_series(1, 5) n;
        insert into users (tenant_id, email, full_name, role, password_hash)
          select 1 + n / 1000, 'u' || n || '@x.test', 'User', 'nurse', repeat('-', 97)
          from generate_series(0, 4999) n;
        analyze tenants; analyze users`,
    })
    expect(plan).toMatch(/Index Cond: \(tenant_id = /)
  })

  describe('the users of a tenant are read along an index that starts with the tenant', () => {
    test.each(USER_FILTERS)('filtered by %j', async (filter, index) => {
      const asked = {
        list: userList,
        caller: ADMIN,
        query: { ...byId, ...filter },
        from: undefined,
      }
      const [page] = await statementsOf(LARGE_TENANT, (tx) => listUsers(tx, asked))
      const plan = await planOf(at(), LARGE_TENANT, page as Statement, {
        mode: 'force_custom_plan',
      })
      expect(plan).toMatch(new RegExp(`Index (Only )?Scan using ${index} on users`))
      expect(plan).toMatch(/Index Cond: \(\(?tenant_id = /)
      expect(plan).not.toMatch(/Sort|Bitmap|Seq Scan/)
    })
  })

  test('one statement returns the first departments with their heads and member counts', async () => {
    const asked = { list: departmentList, caller: ADMIN, query: byId, from: undefined }
    const sent = await statementsOf(LARGE_TENANT, (tx) => listDepartments(tx, asked))
    expect(sent).toHaveLength(1)
    const plan = await planOf(at(), LARGE_TENANT, sent[0] as Statement)
    expect(plan).toMatch(/Index Only Scan using users__by_department/)
  })

  test('the blocked users of all tenants are read along their own index', async () => {
    const caller = { role: 'superadmin' as const, tenant_id: LARGE_TENANT }
    const query = { ...byId, sort_by: 'email' as const, is_active: false }
    const asked = { list: userList, caller, query, from: undefined }
    const [page] = await statementsOf(null, (tx) => listUsers(tx, asked))
    const plan = await planOf(at(), null, page as Statement, { mode: 'force_custom_plan' })
    expect(plan).toMatch(/Index Scan using users__all_blocked/)
    expect(plan).not.toMatch(/Sort|is_active/)
  })
}
