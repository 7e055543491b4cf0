/** The example in the client's README runs as it is written, against a fresh demo clinic. */
import { spawn } from 'node:child_process'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { openService } from '../support/service.ts'
import { blocksOf, ROOT, textOf } from './documents.ts'

const WRITTEN = 'http://127.0.0.1:8080'

test('the example signs in, lists the nurses, chooses a theme and signs out', async () => {
  const service = await openService({ config: { DEMO: true } })
  const address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  const [example = ''] = blocksOf(textOf('client/README.md'), 'ts')
  expect(example).toContain(WRITTEN)

  const child = spawn(process.execPath, ['--input-type=module-typescript', '-'], {
    cwd: path.join(ROOT, 'client'),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(example.replaceAll(WRITTEN, address))
  const [out, wrong] = await Promise.all([text(child.stdout), text(child.stderr)])

  expect(wrong).toBe('')
  expect(out).toBe('nurse@demo.local\n')
  const rows = await service.database.sql(
    `select theme, end_reason from users
     join preferences on preferences.user_id = users.id
     join sessions on sessions.user_id = users.id where email = 'admin@demo.local'`,
  )
  expect(rows).toEqual([{ theme: 'dark', end_reason: 'logout' }])
})
