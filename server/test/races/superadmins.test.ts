/** Superadmins who remove each other concurrently. One of them always remains. */
import { beforeAll, describe, expect, test } from 'vitest'
import { newPerson } from '../sessions/users.ts'
import { type Person, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'

let nodes: [Service, Service]
/** The superadmin who remained after the previous round. */
let left: Person

beforeAll(async () => {
  const first = await openService()
  nodes = [first, await openService({ database: first.database })]
  left = await superadmin(first)
})

type Act = (node: Service, by: Person, on: Person) => Promise<Answer>

const ACTS: Record<string, Act> = {
  demotes: (node, by, on) =>
    node.call('PUT', `/api/admin/users/${on.id}/role`, {
      token: by.token,
      body: { role: 'admin' },
    }),
  blocks: (node, by, on) =>
    node.call('POST', `/api/admin/users/${on.id}/block`, { token: by.token }),
  deletes: (node, by, on) => node.call('DELETE', `/api/admin/users/${on.id}`, { token: by.token }),
}

const another = () =>
  newPerson(nodes[0], left, { tenantId: left.tenant_id, subdomain: 'platform', role: 'superadmin' })

async function active(): Promise<number[]> {
  const rows = await nodes[0].database.sql<{ id: number }>(
    `select id from users where role = 'superadmin' and is_active`,
  )
  return rows.map(({ id }) => id)
}

describe.each(Object.keys(ACTS))('if one of two superadmins %s the other', (one) => {
  test.each(Object.keys(ACTS))(
    'while the other %s the first one, exactly one of them stays active',
    async (other) => {
      for (let round = 0; round < 4; round += 1) {
        const [first, second] = [left, await another()]
        const far = nodes[round % 2] as Service
        const answers = await Promise.all([
          (ACTS[one] as Act)(nodes[0], first, second),
          (ACTS[other] as Act)(far, second, first),
        ])
        expect(answers.filter(({ status }) => status < 300)).toHaveLength(1)
        // The losing superadmin was signed out, or was refused as the last superadmin.
        for (const { status, body } of answers.filter(({ status }) => status >= 300))
          expect([[401], [409, 'last_superadmin'], [403, 'role_required']]).toContainEqual(
            status === 401 ? [401] : [status, body.code],
          )
        const stayed = await active()
        expect(stayed).toHaveLength(1)
        left = stayed[0] === first.id ? first : second
      }
    },
  )
})

test('at least one of six superadmins stays active if each demotes the next one in a ring', async () => {
  for (let round = 0; round < 4; round += 1) {
    const ring = [left, ...(await Promise.all(Array.from({ length: 5 }, another)))]
    await Promise.all(
      ring.map((person, index) =>
        (ACTS.demotes as Act)(
          nodes[index % 2] as Service,
          person,
          ring[(index + 1) % ring.length] as Person,
        ),
      ),
    )
    const stayed = await active()
    expect(stayed.length).toBeGreaterThanOrEqual(1)
    left = ring.find(({ id }) => id === stayed[0]) as Person
    for (const { id } of ring.filter(({ id }) => stayed.includes(id) && id !== left.id))
      await (ACTS.deletes as Act)(nodes[0], left, { ...left, id })
  }
})
