/** Kills and restarts the database server while the bot runs. The bot continues automatically and loses no message. */
import { expect, inject, test } from 'vitest'
import { append, SYSTEM } from '../../../src/platform/journal/index.ts'
import { migrate } from '../../../src/platform/schema/migrate.ts'
import { openScene } from '../../messenger/scene.ts'
import { databaseOn } from '../../support/database.ts'
import { postmasterPid, query, started } from '../../support/embedded.ts'
import { scratch } from '../../support/scratch.ts'
import { silentLog } from '../../support/server-address.ts'
import { until } from '../../support/until.ts'

const CHAT = 8101

// The test crashes its own server, so one run with the embedded server is enough.
test.skipIf('url' in inject('server'))(
  'the bot loses no message if the database crashes between sending and recording a message',
  { timeout: 180_000 },
  async () => {
    const dataDir = await scratch()
    const server = await started(dataDir, { max_connections: '100' })
    await migrate(server.connection, silentLog)
    const scene = await openScene({ database: databaseOn(server.connection) })
    const { tenant_id, id } = scene.clinic.people.nurse
    const happen = (action: 'user.password_changed' | 'user.unblocked') =>
      scene.service.app.db.inTenant(tenant_id, (tx) =>
        append(tx, SYSTEM, { action, tenant_id, resource_type: 'user', resource_id: id }),
      )
    await scene.link(scene.clinic.people.nurse, CHAT)
    let answer = (): void => undefined
    const asked = new Promise<void>((isAsked) => {
      const held = new Promise<void>((resolve) => {
        answer = resolve
      })
      const after = () => {
        isAsked()
        return held
      }
      scene.bot.chatAnswers(CHAT, { code: 429, description: 'Too Many', retry_after: 1, after })
    })
    await happen('user.password_changed')
    await asked
    const killed = await postmasterPid(dataDir)
    process.kill(killed, 'SIGKILL')
    // Sends a message whose result must be recorded while the database is unavailable.
    scene.bot.chatAnswers(CHAT)
    answer()
    await until('another server answers', async () => {
      expect(await postmasterPid(dataDir)).not.toBe(killed)
      return query(server.connection, 'select 1')
    })
    await scene.heard(CHAT, 'The password of your account was changed')
    await until('it can be written to', () => happen('user.unblocked').then(() => true), 60_000)
    await scene.heard(CHAT, 'was unblocked')
    expect(await scene.codeOf(CHAT + 1)).toMatch(/^\w{4}-\w{4}$/)
    expect(
      scene.bot
        .textsTo(CHAT)
        .join('\n')
        .match(/The password of your account/g),
    ).toHaveLength(1)
    expect(scene.bot.broken).toMatchObject({ rate: 0, chat: 0 })
  },
)
