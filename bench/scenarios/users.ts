/** A page of users with search and sort, against the same SQL by `pg` alone. */
import { duel } from '../measure/duel.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { openPeer } from '../peers/peer.ts'
import { tenantId } from '../seed/people.ts'
import { type As, pageOf, TENANT } from './lists.ts'
import { CONNECTIONS, POOL_SIZE, type Scenario } from './scenario.ts'
import { BOUND, usersPageSql } from './users-sql.ts'

/** A given name and the first letters of a family name. */
const SEARCH = 'anna ko'

/**
 * The peer's connections have for good what the service sets for each transaction. Without them the
 * same text would be planned otherwise (row-level security decides which index may serve a search).
 */
const settingsOf = (as: As) =>
  as === 'admin'
    ? `-c timezone=UTC -c role=wardkeep_app -c wardkeep.tenant_id=${tenantId(TENANT)}`
    : '-c timezone=UTC -c role=wardkeep_platform'

const CASES: { name: string; as: As }[] = [
  { name: "users, search and sort, a tenant's admin, against pg", as: 'admin' },
  { name: 'users, search and sort, superadmin, against pg', as: 'superadmin' },
]

export const users: Scenario = async (stage, pace, say) => {
  const house = await stage.house('large')
  const lines: Line[] = []
  for (const { name, as } of CASES) {
    say(name)
    const query = `search=${encodeURIComponent(SEARCH)}&sort_by=full_name&sort_order=desc`
    const ours = await pageOf(house, as, `/api/admin/users?${query}`)
    const statements = usersPageSql(as === 'admin' ? tenantId(TENANT) : null, SEARCH)
    const peer = openPeer(new URL('../peers/pg-queries.ts', import.meta.url))
    const theirs = (seconds: number) =>
      peer.ask<number>({
        database: { ...house.database, options: settingsOf(as) },
        poolSize: POOL_SIZE,
        atOnce: CONNECTIONS,
        bound: BOUND,
        seconds,
        ...statements,
      })
    try {
      const outcome = await duel(ours, theirs, pace)
      lines.push({
        name,
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.peer),
        ratio: outcome.ratio,
        aim: { atLeast: 0.5 },
      })
    } finally {
      peer.stop()
    }
  }
  return lines
}
