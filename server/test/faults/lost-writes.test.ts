/** The service meets a server that lacks changes which another server has acknowledged. */
import { describe, expect, test } from 'vitest'
import type { EmbeddedServer } from '../../src/platform/embedded/index.ts'
import { newColleague, standing } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { databaseOn } from '../support/database.ts'
import { query } from '../support/embedded.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'
import { openSwitch } from '../support/tcp-switch.ts'
import { startTwoServers } from '../support/two-servers.ts'
import { until } from '../support/until.ts'

type Server = EmbeddedServer['connection']

const LOST = 'acknowledged changes lost; all sessions ended'

const lossesOf = ({ logged }: Service) => logged.filter(([, , message]) => message === LOST)
const countOf = async ({ app }: Service) => {
  const metric = await app.metrics.registry.getSingleMetric('wardkeep_lost_writes_total')?.get()
  return metric?.values[0]?.value
}
let count = 0
const create = (service: Service, { token }: Person) => {
  const body = { name: `Ward ${count++}` }
  return service.call('POST', '/api/admin/departments', { token, body })
}
const block = (service: Service, { token }: Person, { id }: Person) =>
  service.call('POST', `/api/admin/users/${id}/block`, { token })
const refresh = (service: Service, { refresh: refresh_token }: Person) =>
  service.call('POST', '/api/auth/refresh', { body: { refresh_token } })

const journalOf = (server: Server, action: string) =>
  query<{ id: string; tenant_id: string; changes: { lost: number } }>(
    server,
    `select id, tenant_id, changes from journal where action = '${action}' order by id`,
  )

/** Opens two nodes behind an address that leads to the primary, and makes a clinic. */
async function scene() {
  const servers = await startTwoServers()
  const address = await openSwitch(servers.primary)
  const database = databaseOn({ url: address.url })
  const node = await openService({ database })
  const other = await openService({ database })
  const root = await superadmin(node)
  const clinic = await makeClinic(node, root, 'north')
  return { servers, address, node, other, clinic, colleague: await newColleague(node, clinic) }
}

const signInAdmin = async (service: Service, { people: { admin }, subdomain }: Clinic) => {
  const { email, password } = admin
  const { access_token: token } = await signIn(service, { email, password, subdomain })
  return { ...admin, token }
}

describe('the promotion of a standby that lacks acknowledged changes', () => {
  test('is detected, ends all sessions and creates a critical finding that an operator closes', async () => {
    const { servers, address, node, other, clinic, colleague } = await scene()
    const { primary, standby } = servers
    const { admin } = clinic.people
    expect(await standing(other, colleague.token)).toBe(200)
    await servers.detach()
    expect((await block(node, admin, colleague)).status).toBe(200)
    const created = await create(node, admin)
    expect(created.status).toBe(201)
    await query(standby, 'select pg_promote()')
    // The new primary reuses the ID of a lost entry for another entry.
    const [blocked] = await journalOf(primary, 'user.blocked')
    await query(
      standby,
      `insert into journal (id, tenant_id, action, resource_type, resource_id)
       values (${blocked?.id}, ${clinic.id}, 'user.blocked', 'user', '${colleague.id}')`,
    )
    address.point(standby)
    await until('the loss is noticed', () => lossesOf(node)[0])
    for (const service of [node, other]) {
      await until('it refuses former sessions', async () =>
        (await standing(service, colleague.token)) === 401 ? true : undefined,
      )
      expect(await standing(service, admin.token)).toBe(401)
      expect((await refresh(service, colleague)).status).toBe(401)
    }
    const fields = expect.objectContaining({ lost: 2 })
    expect([lossesOf(node), lossesOf(other)]).toEqual([[['error', fields, LOST]], []])
    expect([await countOf(node), await countOf(other)]).toEqual([2, 0])
    await node.app.features.selfHealing.scan()
    const { access_token: token } = await signIn(other, SUPERADMIN)
    const fixes = await other.call('GET', '/api/admin/self-healing/fixes', { token })
    const fix = fixes.body.items.find(({ key }: { key: string }) => key === 'database.writes_lost')
    expect(fix).toMatchObject({ severity: 'critical', status: 'proposed', occurrences: 1 })
    const changes = `user.blocked (user ${colleague.id}), department.created (department ${created.body.id})`
    expect(fix.evidence[0].measured).toMatchObject({ lost: 2, changes })
    const entries = await journalOf(standby, 'database.writes_lost')
    expect(entries.map(({ tenant_id, changes: { lost } }) => [Number(tenant_id), lost])).toEqual(
      expect.arrayContaining([
        [clinic.id, 2],
        [1, 2],
      ]),
    )
    const confirm = `/api/admin/self-healing/confirm/${fix.id}`
    expect((await other.call('POST', confirm, { token })).body).toMatchObject({ status: 'applied' })
    const scan = await node.app.features.selfHealing.scan()
    expect(scan?.fixes.find(({ key }) => key === fix.key)?.occurrences).toBe(0)
  })
})

describe('a planned switchover of the database', () => {
  test('loses nothing, and refuses the former primary for 30 s', async () => {
    const { servers, address, node, other, clinic, colleague } = await scene()
    const { primary, standby, replayed } = servers
    await create(node, clinic.people.admin)
    await replayed()
    await query(standby, 'select pg_promote()')
    address.point(standby)
    await until('it writes to the new primary', async () =>
      (await create(node, clinic.people.admin)).status === 201 ? true : undefined,
    )
    expect(await standing(node, colleague.token)).toBe(200)
    expect([lossesOf(node), await countOf(node)]).toEqual([[], 0])
    await other.close()
    address.point(primary)
    const refusals = () =>
      node.logged.filter(([, fields]) => /timeline/.test(String((fields as { err?: unknown }).err)))
    await until('the former primary is refused', () => refusals()[0])
    node.clock.elapse(15_000)
    expect((await create(node, clinic.people.admin)).status).toBe(503)
    expect(lossesOf(node)).toEqual([])
    node.clock.elapse(15_000)
    // The department was lost: the new primary does not have it.
    await until('the loss is noticed', () => lossesOf(node)[0])
    await until('it signs people in', () => signInAdmin(node, clinic).catch(() => undefined))
    expect(await countOf(node)).toBe(1)
  })
})
