/** Messages that had to wait: for a response, for a day, or for a week. */
import { expect, test } from 'vitest'
import { append, SYSTEM } from '../../src/platform/journal/index.ts'
import type { Person } from '../support/clinics.ts'
import { until } from '../support/until.ts'
import { openScene, rests, type Scene } from './scene.ts'

let scene: Scene

const happen = ({ tenant_id, id }: Person) =>
  scene.service.app.db.inTenant(tenant_id, (tx) =>
    append(tx, SYSTEM, {
      action: 'user.password_changed',
      tenant_id,
      resource_type: 'user',
      resource_id: id,
    }),
  )

test('events older than a day are only counted in messages, and dropped after seven days', async () => {
  scene = await openScene()
  const { nurse } = scene.clinic.people
  const chat = 9999
  await scene.link(nurse, chat)
  scene.bot.chatAnswers(chat, { code: 429, description: 'Too Many', retry_after: 90_000 })
  await happen(nurse)
  await rests(scene, nurse)
  scene.bot.chatAnswers(chat)
  scene.service.clock.advance(90_001_000)
  // The journal uses the real clock, and the service's clock is a day ahead. For the service this event happened
  // yesterday.
  expect(await scene.heard(chat, 'password')).toBe('1 event: 1 password changed')
  scene.bot.chatAnswers(chat, { code: 429, description: 'Too Many', retry_after: 600_000 })
  await happen(nurse)
  await rests(scene, nurse)
  scene.bot.chatAnswers(chat)
  scene.service.clock.advance(600_001_000)
  await until('nothing waits any more', async () => {
    const rows = await scene.service.database.sql(
      `select from messenger_notices n join messenger_links l on l.id = n.link_id where user_id = $1`,
      [nurse.id],
    )
    return rows.length === 0 || undefined
  })
  expect(
    scene.bot
      .textsTo(chat)
      .join()
      .match(/password/g),
  ).toHaveLength(1)
})

test('a message that gets no response is sent again within ten seconds, and delays no other message', {
  timeout: 90_000,
}, async () => {
  scene = await openScene()
  const { doctor, nurse } = scene.clinic.people
  await scene.link(doctor, 9001)
  await scene.link(nurse, 9002)
  scene.bot.chatAnswers(9001, 'stall')
  await happen(doctor)
  await until('it is not answered', () => scene.bot.stalled.includes(9001) || undefined)
  await happen(nurse)
  await scene.heard(9002, 'password')
  await until(
    'it is given up',
    async () => {
      const rows = await scene.service.database.sql(
        `select from messenger_chats c join messenger_links l on l.chat_hash = c.hash
       where l.user_id = $1 and c.failures = 1`,
        [doctor.id],
      )
      return rows.length > 0 || undefined
    },
    40_000,
  )
  scene.bot.chatAnswers(9001)
  scene.service.clock.advance(5_001)
  await scene.heard(9001, 'password')
})
