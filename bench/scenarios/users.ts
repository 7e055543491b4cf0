/** Pages of users (searched and sorted, or the first page of all), compared with SQL through `pg` alone. */

import { openBaseline } from '../baselines/baseline.ts'
import { compare } from '../measure/compare.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { tenantId } from '../seed/people.ts'
import { type As, pageOf, TENANT } from './lists.ts'
import { CONNECTIONS, POOL_SIZE, type Scenario } from './scenario.ts'
import { BOUND, firstPageSql, usersPageSql } from './users-sql.ts'

/** The search term: a given name and the first letters of a family name. */
const SEARCH = 'anna ko'

/** The aim: three times the ratio at commit 0772674, which was 930/s to 4,300/s. */
const FIRST_PAGE_AIM = 0.65

const COMMON = '-c timezone=UTC -c random_page_cost=1.1'
/**
 * Returns the settings of the baseline's connections: those the service sets for each transaction, and its page costs.
 * Without them the same text would be planned differently, because row-level security decides which index may serve a
 * search.
 */
const settingsOf = (as: As) =>
  as === 'auditor'
    ? `${COMMON} -c role=wardkeep_app -c wardkeep.tenant_id=${tenantId(TENANT)}`
    : `${COMMON} -c role=wardkeep_platform`

const query = `search=${encodeURIComponent(SEARCH)}&sort_by=full_name&sort_order=desc`
const tenant = tenantId(TENANT)

interface Case {
  name: string
  as: As
  path: string
  statements: ReturnType<typeof usersPageSql> | { page: ReturnType<typeof firstPageSql> }
  atLeast: number
}

const CASES: Case[] = [
  {
    name: "users, search and sort, a tenant's auditors, against pg",
    as: 'auditor',
    path: `/api/admin/users?${query}`,
    statements: usersPageSql(tenant, SEARCH),
    atLeast: 0.5,
  },
  {
    name: 'users, search and sort, superadmins, against pg',
    as: 'superadmin',
    path: `/api/admin/users?${query}`,
    statements: usersPageSql(null, SEARCH),
    atLeast: 0.5,
  },
  {
    name: "users, first page of a tenant's 1,000, against pg",
    as: 'auditor',
    path: '/api/admin/users',
    statements: { page: firstPageSql(tenant) },
    atLeast: FIRST_PAGE_AIM,
  },
]

export const users: Scenario = async (environment, pace, say) => {
  const deployment = await environment.deployment('large')
  const lines: Line[] = []
  for (const { name, as, path, statements, atLeast } of CASES) {
    say(name)
    const ours = await pageOf(deployment, as, path)
    const baseline = openBaseline(new URL('../baselines/pg-queries.ts', import.meta.url))
    const theirs = (seconds: number) =>
      baseline.ask<number>({
        database: { ...deployment.database, options: settingsOf(as) },
        poolSize: POOL_SIZE,
        atOnce: CONNECTIONS,
        bound: BOUND,
        seconds,
        ...statements,
      })
    try {
      const outcome = await compare(ours, theirs, pace)
      lines.push({
        name,
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        ratio: outcome.ratio,
        aim: { atLeast },
      })
    } finally {
      baseline.stop()
    }
  }
  return lines
}
