/** The upkeep of the messenger deletes expired rows and keeps all other rows. */
import { expect, test } from 'vitest'
import { deleteOutdatedChatRows } from '../../src/features/messenger/messenger.jobs.ts'
import { DAY, HOUR } from '../../src/lib/clock.ts'
import { furnishAccount, furnishMessenger } from '../isolation/furnish.ts'
import { superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'

test('the upkeep deletes expired codes, replies, updates, event messages and chats', async () => {
  const service = await openService()
  const { sql } = service.database
  const root = await superadmin(service)
  await furnishAccount(service, root)
  await furnishMessenger(service, root)
  const now = service.clock.now()
  const at = (ms: number) => new Date(now + ms).toISOString()
  // Creates an old and a new row in each table, and chats that a due time, a link or a reply keeps.
  for (const [name, ms] of [
    ['old', -1],
    ['young', 60_000],
  ] as const) {
    const hash = Buffer.from(`code of ${name}`)
    await sql('insert into messenger_codes values ($1, $1, $1, $2)', [hash, at(ms)])
    await sql('insert into messenger_chats (hash, created_at) values ($1, $2)', [
      `of ${name} reply`,
      at(-2 * DAY),
    ])
    await sql(
      `insert into messenger_replies (chat_hash, is_answer, sealed_reply, expires_at)
       values ($1, true, '\\x00', $2)`,
      [`of ${name} reply`, at(ms)],
    )
  }
  await sql(
    `insert into messenger_chats (hash, created_at, due_at)
     values ('idle', $1, null), ('due', $1, $1), ('made today', $2, null)`,
    [at(-2 * DAY), at(-HOUR)],
  )
  await sql(
    `insert into messenger_chats (hash, created_at) select chat_hash, $1 from messenger_links`,
    [at(-2 * DAY)],
  )
  await sql('insert into messenger_updates values (1, 1, $1), (1, 2, $2)', [
    at(-2 * DAY - HOUR),
    at(-2 * DAY + HOUR),
  ])
  await sql(
    `insert into messenger_notices (tenant_id, link_id, entry_id, event_at, action, is_own, queued_at)
     select tenant_id, id, 7, $1, 'user.created', false, $1 from messenger_links`,
    [at(-7 * DAY - HOUR)],
  )
  await deleteOutdatedChatRows(
    { db: service.app.db, clock: service.clock },
    new AbortController().signal,
  )
  const left = async (text: string) => (await sql<{ it: string }>(text)).map(({ it }) => it)
  expect(await left(`select convert_from(code_hash, 'utf8') as it from messenger_codes`)).toEqual([
    'code of young',
  ])
  expect(await left('select update_id::int as it from messenger_updates')).toEqual([2])
  expect(await left('select entry_id::int as it from messenger_notices')).toEqual([1])
  const chats = await left(
    `select convert_from(hash, 'utf8') as it from messenger_chats c
     where not exists (select from messenger_links l where l.chat_hash = c.hash) order by 1`,
  )
  expect(chats).toEqual(['due', 'made today', 'of young reply'])
  expect(
    await sql('select from messenger_links join messenger_chats on hash = chat_hash'),
  ).toHaveLength(1)
})
