/** The list of events, and the event subscriptions of webhooks. */
import { beforeAll, describe, expect, test } from 'vitest'
import { isWanted } from '../../src/features/webhooks/events/subscription.ts'
import { ACTIONS, isPublic, PUBLIC_ACTIONS } from '../../src/platform/journal/index.ts'
import { openWalkable, walk } from '../contract/walk.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic
let catalogue: { name: string; description: string; example: any }[]

beforeAll(async () => {
  at = await openClinic()
  catalogue = (await at.call('GET', '/events')).body
})

/** Events that the walk through all operations does not cause, so their examples are not compared. */
const NOT_WALKED = [
  'tenant.activated',
  'tenant.deactivated',
  'auth.login_failed',
  'auth.refresh_reused',
  'auth.session_ended',
  'backup.failed',
  'backup.rewritten',
  'backup.restored',
  'encryption.rotation_failed',
  'self_healing.failed',
  'encryption.root_key_rotated',
  'encryption.root_key_destroyed',
]

/**
 * Returns the shape of `changes`. For a created or deleted record these are all its fields, and otherwise only whether
 * `changes` exists.
 */
function shapeOf(changes: Record<string, unknown> | null): unknown {
  if (changes === null) return null
  const isWhole = changes.before === null || changes.after === null
  const kinds = Object.entries(changes).map(([key, value]) => {
    if (value === null || typeof value !== 'object') return [key, value === null ? null : 'value']
    return [key, isWhole ? Object.keys(value).sort() : 'fields']
  })
  return Object.fromEntries(kinds.sort())
}

describe('the list of events for webhooks', () => {
  test('contains every public event, with its meaning and a complete example message', () => {
    expect(catalogue.map(({ name }) => name)).toEqual([...PUBLIC_ACTIONS])
    for (const { name, description, example } of catalogue) {
      expect(description).toBe(ACTIONS[name as keyof typeof ACTIONS].meaning)
      expect(example).toEqual({
        type: name,
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        id: expect.stringMatching(/^msg_[0-9a-z]+_[0-9a-z]+$/),
        tenant_id: expect.any(Number),
        data: {
          entry_id: expect.any(Number),
          resource_type: expect.any(String),
          resource_id: example.data.resource_id,
          user_id: example.data.user_id,
          changes: example.data.changes,
        },
      })
    }
  })

  test('shows each event as the journal records it', async () => {
    const walkable = await openWalkable()
    const { service } = walkable
    await walk(walkable)
    const rows = await service.database.sql<{ action: string; entry: any }>(
      'select action, to_jsonb(j) as entry from journal j',
    )
    const compared = new Set<string>()
    for (const { name, example } of catalogue) {
      const real = rows.filter(({ action }) => action === name).map(({ entry }) => entry)
      if (real.length === 0) continue
      compared.add(name)
      const shown = ({ resource_type, resource_id, changes }: any) => ({
        resource_type,
        has_id: resource_id !== null,
        // Events about patients contain only ids.
        ...(name.startsWith('patient.') ? {} : { changes: shapeOf(changes) }),
      })
      expect([name, real.map(shown)]).toEqual([name, expect.arrayContaining([shown(example.data)])])
    }
    const unmatched = catalogue.map(({ name }) => name).filter((name) => !compared.has(name))
    expect(unmatched).toEqual(NOT_WALKED)
    // An event without a tenant would be sent to no webhook.
    const ofNobody = rows.filter(({ entry }) => entry.tenant_id === null)
    expect(ofNobody.map(({ action }) => action).filter(isPublic)).toEqual([])
  })

  test('is available beside the webhooks in the API, and only with GET', async () => {
    expect((await at.call('PUT', '/events', { body: {} })).status).toBe(422)
    expect((await at.call('DELETE', '/events')).status).toBe(422)
  })
})

describe('a webhook', () => {
  test.each(['*', 'user.*', 'tenant.*', 'self_healing.*', 'user.created', 'webhook.test'])(
    'can subscribe to %s',
    async (name) => {
      expect((await at.register({ events: [name] })).events).toEqual([name])
    },
  )

  test('gets every unknown event name reported, with the valid names', async () => {
    const names = ['user.*', 'user', 'User.created', '**', 'webhook.*', '', 'webhook.updated']
    const answer = await at.call('POST', '/register', {
      body: { url: 'http://127.0.0.1:9/', events: names },
    })
    expect(answer.status).toBe(422)
    expect(answer.body.detail).toEqual(
      names.slice(1).map((_, index) => ({
        loc: ['body', 'events', String(index + 1)],
        msg: expect.stringMatching(/^Input should be '\*', 'tenant\.\*'.*'user\.created'/),
        type: 'enum',
      })),
    )
    for (const action of PUBLIC_ACTIONS) expect(answer.body.detail[0].msg).toContain(`'${action}'`)
  })
})

describe('an event subscription', () => {
  test.each([
    ['user.created', ['user.created']],
    ['user.created', ['auth.*', 'user.*']],
    ['user.created', ['*']],
    ['self_healing.applied', ['self_healing.*']],
  ])('contains %s if it names %j', (action, events) => {
    expect(isWanted(events, action)).toBe(true)
  })

  test.each([
    ['user.created', []],
    ['user.created', ['user.updated', 'department.*']],
    ['access.refused', ['*']],
    ['webhook.updated', ['*']],
    ['webhook.test', ['*', 'webhook.test']],
  ])('does not contain %s if it names %j', (action, events) => {
    expect(isWanted(events, action)).toBe(false)
  })
})
