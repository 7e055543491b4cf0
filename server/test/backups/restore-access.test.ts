/**
 * Restores users' access from the backup, for example after a break-in. Covers a full restore and a restore of one
 * clinic.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { botConfig, newChat, sceneOn } from '../messenger/scene.ts'
import { openBotServer } from '../support/bot-server.ts'
import type { Person } from '../support/clinics.ts'
import { SUPERADMIN } from '../support/service.ts'
import { clinicOn, type WebhookClinic } from '../webhooks/clinic.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { make } from './support.ts'

const THEN = 'http://127.0.0.1:9/then'
const SETTINGS = { registration: 'open', colour: 'blue' }
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

describe.each([
  ['everything', false],
  ['one clinic', true],
])("a restore of %s with the backup's access", (_what, isOne) => {
  let at: Restoring
  let hooks: WebhookClinic
  /** Two webhooks. The URL of the first was changed after the backup. */
  let webhookIds: number[]
  let secrets: [then: object[], now: object[]]
  let root: Person
  let done: any

  beforeAll(async () => {
    const bot = await openBotServer()
    at = await openRestoring({
      background: ['backups', 'jobs', 'messenger'],
      config: botConfig(bot),
    })
    hooks = clinicOn(at.service, at.north)
    const { sql, north, south } = at
    const { nurse, doctor, admin, auditor, receptionist } = north.people

    const { call, link } = sceneOn(at.service, bot, at.root, north)
    const subscribe = async (person: Person, event: string) => {
      const answer = await call('POST', '/subscribe', person, { events: [event] })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    }
    const all = (people: Person[], work: (person: Person) => Promise<void>) =>
      Promise.all(people.map(work))
    const linked = (person: Person) => link(person, newChat())
    await all([nurse, admin], linked)
    await all([nurse, admin], (person) => subscribe(person, 'user.*'))

    // The test triggers no event of this kind, so that nothing else writes to the queues.
    const register = async () => (await hooks.register({ url: THEN, events: ['department.*'] })).id
    webhookIds = [await register(), await register()]
    await sql('update users set can_see_all_patients = true where id = $1', [doctor.id])
    const settings = (value: object) =>
      sql('update tenants set settings = $2 where id = $1', [north.id, JSON.stringify(value)])
    await settings(SETTINGS)
    const secretThen = await currentSecret()
    const backup_id = await make(at.service, at.root)

    const since = [doctor, at.root, south.people.nurse]
    await all(since, linked)
    await all([admin, ...since], (person) => subscribe(person, 'auth.*'))
    const changed = await hooks.call('PUT', `/${webhookIds[1]}`, { body: { secret: SECRET } })
    expect(changed.status).toBe(200)
    secrets = [secretThen, await currentSecret()]
    await sql(`update webhooks set url = 'http://127.0.0.1:9/now' where id = $1`, [webhookIds[0]])
    await sql(
      `update webhook_queues set failures = 7, failing_since = now() - interval '4 days', slots = 1,
         paused_until = now() + interval '1 hour', probed_at = now(), answered_at = now()`,
    )
    await settings({ registration: 'closed', listed: false })
    const users = '/api/admin/users'
    const password = { password: 'another-Horse-9' }
    const answers = [
      await at.call(at.root, 'POST', `${users}/${nurse.id}/block`),
      await at.call(at.root, 'DELETE', `${users}/${auditor.id}`),
      await at.call(at.root, 'PUT', `${users}/${receptionist.id}/password`, password),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 204, 200])
    await sql("update users set role = 'receptionist' where id = $1", [admin.id])
    await sql('update users set can_see_all_patients = false where id = $1', [doctor.id])
    const order = { backup_id, access: 'backup', ...(isOne ? { tenant_id: north.id } : {}) }
    done = await at.restore(at.root, order)
    root = done.as
  })

  const currentSecret = () =>
    at.sql('select id from webhook_secrets where webhook_id = $1 and expires_at is null', [
      webhookIds[1],
    ])
  const rowOf = async (id: number) =>
    (await at.sql('select role, is_active, can_see_all_patients from users where id = $1', [id]))[0]

  test('restores the access of every user, and keeps the current access of the caller', async () => {
    const { nurse, doctor, auditor, admin, receptionist } = at.north.people
    expect(await rowOf(nurse.id)).toMatchObject({ is_active: true })
    expect(await rowOf(admin.id)).toMatchObject({ role: 'admin' })
    expect(await rowOf(doctor.id)).toMatchObject({ can_see_all_patients: true })
    expect(await rowOf(auditor.id)).toMatchObject({ is_active: true })
    await at.again(receptionist, 'north')
    await at.again({ ...root, ...SUPERADMIN })
    expect(done.access).toEqual({ total: 0, cases: [] })
  })

  test('restores the settings for registration and for access to the clinic', async () => {
    const [{ settings }] = await at.sql('select settings from tenants where id = $1', [at.north.id])
    expect(settings).toEqual(SETTINGS)
  })

  test("unlinks chats that were linked after the backup, except the caller's chat", async () => {
    const { nurse, admin } = at.north.people
    const usersOf = async (table: string) =>
      new Set((await at.sql(`select user_id from ${table}`)).map(({ user_id }) => Number(user_id)))
    const ids = (...people: Person[]) => new Set(people.map(({ id }) => id))
    const foreign = isOne ? [at.south.people.nurse] : []
    expect(await usersOf('messenger_links')).toEqual(ids(nurse, admin, at.root, ...foreign))
    expect(await usersOf('messenger_subscriptions')).toEqual(ids(nurse, at.root, ...foreign))
  })

  test('restores the former URL of a webhook, and resets the delivery queue only if the URL changed', async () => {
    const columns = 'url, is_active'
    const webhooks = await at.sql(`select ${columns} from webhooks where id = any($1)`, [
      webhookIds,
    ])
    expect(webhooks).toEqual(webhookIds.map(() => ({ url: THEN, is_active: true })))
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

  test('restores the former secret of a webhook, and undoing the restore brings the newer secret back', async () => {
    expect(await currentSecret()).toEqual(secrets[0])
    await at.restore(root, {
      backup_id: done.safety_backup_id,
      access: 'backup',
      tenant_id: at.north.id,
    })
    expect(await currentSecret()).toEqual(secrets[1])
  })
})
