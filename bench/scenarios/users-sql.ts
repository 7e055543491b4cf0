/**
 * Pages of users as SQL text: a page that is searched and sorted by name in reverse, and the first page of all users.
 * The SQL contains no roles, tenant settings and transactions.
 */

/** The limit up to which totals are exact. Larger totals are estimates of the planner. */
export const BOUND = 10_000

const COLUMNS = `"id", "email", "full_name", "role", "tenant_id", "department_id",
  "can_see_all_patients", "is_active", case when users.is_active then 'active'
  when users.is_pending then 'pending' else 'blocked' end as "status",
  email_verified_at is not null as "email_verified",
  totp_enabled_at is not null as "totp_enabled", "created_at", "last_login_at"`

interface Statement {
  name?: string
  text: string
  values: unknown[]
}

/** @param tenantId null for all tenants */
export function usersPageSql(
  tenantId: number | null,
  search: string,
): { page: Statement; estimate: Statement } {
  const scope =
    tenantId === null
      ? '"tenant_id" not in (select id from tenants where deleted_at is not null)'
      : `"tenant_id" = ${tenantId}`
  const pattern = `%${search}%`
  const filtered = (columns: string) =>
    `select ${columns} from "users" where ${scope} and "search" like $1`
  const counted = filtered('1 as "one"')
  return {
    page: {
      text: `
        select c.wk_total, p.* from
          (select count(*) as wk_total from (${counted} limit ${BOUND + 1}) m) c
          left join lateral (select true as wk_row, q.* from (
            ${filtered(COLUMNS)} order by "full_name" desc, "id" desc limit 20 offset 0
          ) q) p on true`,
      values: [pattern],
    },
    estimate: { text: `explain (format json) ${counted}`, values: [pattern] },
  }
}

/**
 * Returns the first page of a tenant's users with an exact total. It can be planned once, because it contains no
 * search.
 */
export function firstPageSql(tenantId: number): Statement {
  const filtered = (columns: string) => `select ${columns} from "users" where "tenant_id" = $1`
  return {
    name: 'first-page',
    text: `
      select c.wk_total, p.* from
        (select count(*) as wk_total from (${filtered('1')} limit ${BOUND + 1}) m) c
        left join lateral (select q.* from (
          ${filtered(COLUMNS)} order by "id" limit 20
        ) q) p on true`,
    values: [tenantId],
  }
}
