/** The README's curl commands work as written on a fresh demo clinic. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { announcement } from '../../src/features/setup/announcement.ts'
import { migratedDatabase } from '../support/database.ts'
import { openService } from '../support/service.ts'
import { blocksOf, textOf } from './documents.ts'

const WRITTEN = 'http://127.0.0.1:8080'

test('the README shows the actual output of a start', () => {
  const [shown] = blocksOf(textOf('README.md'), 'text')
  expect(announcement({ address: WRITTEN, hasDemo: true })).toBe(`\n${shown}`)
})

test('the three curl commands of the README sign in, list the users and block the nurse', async () => {
  const service = await openService({ database: await migratedDatabase(), config: { DEMO: true } })
  const address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  const [block = ''] = blocksOf(textOf('README.md'), 'sh').filter((text) => text.includes('curl'))
  expect(block.match(/curl /g)).toHaveLength(3)
  expect(block).toContain(WRITTEN)

  // Replaces an empty line of the block with a command that prints an empty line, which separates the answers.
  const script = block.replaceAll(WRITTEN, address).replaceAll('\n\n', '\necho\n')
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    env: { ...process.env, PATH: `${path.dirname(process.execPath)}:${process.env.PATH}` },
  })
  const [users, nurse] = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

  expect(users.total).toBe(6)
  const listed = users.items.find((user: { role: string }) => user.role === 'nurse')
  expect(listed).toMatchObject({ email: 'nurse@demo.local', is_active: true, status: 'active' })
  expect(nurse).toEqual({ ...listed, is_active: false, status: 'blocked' })
})
