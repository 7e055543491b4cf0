/** A restore has no webhook send where, or what, its administrators have had it stop sending since. */
import { beforeEach, expect, test } from 'vitest'
import { clinicOn, type WebhookClinic } from '../webhooks/clinic.ts'
import { openRestoring, type Restoring } from './restoring.ts'
import { make } from './support.ts'

const THEN = 'http://127.0.0.1:9/then'
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

let at: Restoring
let hooks: WebhookClinic

beforeEach(async () => {
  at = await openRestoring()
  hooks = clinicOn(at.service, at.north)
})

/** Registers webhooks with what is changed of each since, and backs them up in between. */
async function changedSince(webhooks: readonly { events?: string[]; change: object }[]) {
  const ids: number[] = []
  for (const { events = ['*'] } of webhooks)
    ids.push((await hooks.register({ url: THEN, events })).id)
  const backup_id = await make(at.service, at.root)
  for (const [index, { change }] of webhooks.entries()) {
    const changed = await hooks.call('PUT', `/${ids[index]}`, { body: change })
    expect(changed.status, JSON.stringify(changed.body)).toBe(200)
  }
  return { ids, backup_id }
}

const rowOf = async (id: number) =>
  (await at.sql('select url, is_active, disabled_reason from webhooks where id = $1', [id]))[0]

/** What is changed since, and what of that is told; where anything but the secret is, it comes back inactive. */
const CHANGES: [string, { events?: string[]; change: object }, string[]][] = [
  ['another URL', { change: { url: 'http://127.0.0.1:9/now' } }, ['url']],
  ['fewer events than all', { change: { events: ['payment.*'] } }, ['events']],
  [
    'one event of a group',
    { events: ['user.*'], change: { events: ['user.created', 'payment.*'] } },
    ['events'],
  ],
  ['other events', { events: ['user.created'], change: { events: ['user.deleted'] } }, ['events']],
  ['all events', { events: ['user.*', 'user.created'], change: { events: ['*'] } }, []],
  ['the group', { events: ['user.created'], change: { events: ['user.*'] } }, []],
  ['another secret', { change: { secret: SECRET } }, ['secret']],
]

test('it comes back inactive where it would send to another or more than today, and is told', async () => {
  const { ids, backup_id } = await changedSince(CHANGES.map(([, webhook]) => webhook))
  const { access } = await at.restore(at.root, { backup_id })
  const inactive = { url: THEN, is_active: false, disabled_reason: 'admin' }
  const active = { url: THEN, is_active: true, disabled_reason: null }
  for (const [index, [what, , fields]] of CHANGES.entries())
    expect(await rowOf(ids[index] ?? 0), what).toEqual(
      fields.some((field) => field !== 'secret') ? inactive : active,
    )
  expect(access.cases).toEqual(
    CHANGES.flatMap(([, , fields], index) =>
      fields.length > 0 ? [{ table: 'webhooks', id: ids[index], fields }] : [],
    ),
  )
  const activated = await hooks.call('PUT', `/${ids[0]}`, { body: { is_active: true } })
  expect(activated.status, JSON.stringify(activated.body)).toBe(200)
})

test('one that failures have deactivated since is not asked at the former URL', async () => {
  const { ids, backup_id } = await changedSince([{ change: { url: 'http://127.0.0.1:9/now' } }])
  await at.sql(`update webhooks set is_active = false, disabled_reason = 'failing'`)
  const { access } = await at.restore(at.root, { backup_id })
  expect(await rowOf(ids[0] ?? 0)).toMatchObject({ is_active: false, disabled_reason: 'admin' })
  expect(access.cases).toMatchObject([{ fields: ['is_active', 'url'] }])
})

test('with its access the former URL is active again, and how the other did counts no more', async () => {
  // Of events that do not happen here: nobody else is at the queues.
  const events = ['department.*']
  const ids = [(await hooks.register({ url: THEN, events })).id]
  ids.push((await hooks.register({ url: THEN, events })).id)
  const backup_id = await make(at.service, at.root)
  await at.sql(`update webhooks set url = 'http://127.0.0.1:9/now' where id = $1`, [ids[0]])
  await at.sql(
    `update webhook_queues set failures = 7, failing_since = now() - interval '4 days', slots = 1,
       paused_until = now() + interval '1 hour', probed_at = now(), answered_at = now()`,
  )
  const { access } = await at.restore(at.root, { backup_id, access: 'backup' })
  expect(access.cases).toEqual([])
  for (const id of ids) expect(await rowOf(id)).toMatchObject({ url: THEN, is_active: true })
  const queues = await at.sql(
    `select resets > 0 as was_reset, failing_since is not null as is_failing,
       paused_until is not null as is_paused, answered_at is not null as has_answered
     from webhook_queues order by webhook_id`,
  )
  expect(queues).toEqual([
    { was_reset: true, is_failing: false, is_paused: false, has_answered: false },
    { was_reset: false, is_failing: true, is_paused: true, has_answered: true },
  ])
})
