/** That sending goes on, whatever turneds of a single message. */
import { expect, onTestFinished, test } from 'vitest'
import { startSender } from '../../src/features/messenger/sending/sender.ts'
import { watchChanges } from '../../src/platform/db/index.ts'
import { until } from '../support/embedded.ts'
import { silentLog } from '../support/server-address.ts'
import { openService } from '../support/service.ts'

test('a turn that throws when it goes ahead of all after a hold keeps nobody', async () => {
  const { app, database, clock } = await openService({ role: 'api' })
  const changes = watchChanges(database.address, silentLog)
  const turned: string[] = []
  const isDue = (chats: readonly string[]) =>
    database.sql(
      "insert into messenger_chats (hash, due_at) select decode(unnest($1::text[]), 'hex'), now()",
      [chats],
    )
  const sender = startSender({
    db: app.db,
    changes,
    clock,
    log: silentLog,
    bot: { isGood: () => true, refused: () => undefined },
    tenure: {
      epoch: 1,
      over: new AbortController().signal,
      isSure: () => true,
      fence: async () => undefined,
    },
    async turn({ hash }) {
      await database.sql('update messenger_chats set due_at = null where hash = $1', [hash])
      const turns = turned.push(hash.toString('hex'))
      if (turns <= 2) return { kind: 'limited', retryMs: 1000 }
      if (turns === 3) throw new Error('the database is away')
      return { kind: 'sent' }
    },
  })
  onTestFinished(async () => {
    await sender.stop()
    await changes.stop()
  })
  await isDue(['01', '02'])
  await until('all are held', () => turned.length === 2 || undefined, 20_000)
  await isDue(['03', '04', '05'])
  await until('all have had their turn', () => turned.length === 5 || undefined, 20_000)
  expect(turned.toSorted()).toEqual(['01', '02', '03', '04', '05'])
})
