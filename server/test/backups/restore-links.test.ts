/** With the access of the backup no chat hears on that was linked since. */
import { expect, test } from 'vitest'
import { botConfig, newChat, sceneOn } from '../messenger/scene.ts'
import { openBotServer } from '../support/bot-server.ts'
import type { Person } from '../support/clinics.ts'
import { openRestoring } from './restoring.ts'
import { make } from './support.ts'

test.each<[string, boolean]>([
  ['everything', false],
  ['one clinic', true],
])('chats that were linked since are not, by a restore of %s', async (_what, isOne) => {
  const bot = await openBotServer()
  const at = await openRestoring({ config: botConfig(bot) })
  const { call, link } = sceneOn(at.service, bot, at.root, at.north)
  const { nurse, doctor, admin } = at.north.people
  const stranger = at.south.people.nurse
  const subscribe = async (person: Person, event: string) => {
    const answer = await call('POST', '/subscribe', person, { events: [event] })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }
  const all = (people: Person[], work: (person: Person) => Promise<void>) =>
    Promise.all(people.map(work))
  const linked = (person: Person) => link(person, newChat())

  await all([nurse, admin], linked)
  await all([nurse, admin], (person) => subscribe(person, 'user.*'))
  const backup_id = await make(at.service, at.root)
  const since = [doctor, at.root, stranger]
  await all(since, linked)
  await all([admin, ...since], (person) => subscribe(person, 'auth.*'))
  const order = { backup_id, access: 'backup', ...(isOne ? { tenant_id: at.north.id } : {}) }
  await at.restore(at.root, order)

  const usersOf = async (table: string) =>
    (await at.sql(`select user_id from ${table}`)).map(({ user_id }) => Number(user_id))
  const ids = (...people: Person[]) => new Set(people.map(({ id }) => id))
  const foreign = isOne ? [stranger] : []
  expect(new Set(await usersOf('messenger_links'))).toEqual(ids(nurse, admin, at.root, ...foreign))
  expect(new Set(await usersOf('messenger_subscriptions'))).toEqual(ids(nurse, at.root, ...foreign))
})
