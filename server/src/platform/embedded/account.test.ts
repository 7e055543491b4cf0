/** Tests the choice of the account under which root starts the embedded server. */
import { spawnSync } from 'node:child_process'
import { expect, onTestFinished, test, vi } from 'vitest'
import { chosen, permitted } from './account.ts'

vi.mock('node:child_process', { spy: true })

const passwd = (...names: string[]) =>
  names.map((name, at) => `${name}:x:${100 + at}:${200 + at}::/:/bin/false`).join('\n')

test('the embedded PostgreSQL runs as the account wardkeep, or else postgres, or else nobody', () => {
  const nameOf = (...names: string[]) => chosen(passwd('root', ...names))?.name
  expect(nameOf('nobody', 'postgres', 'wardkeep')).toBe('wardkeep')
  expect(nameOf('nobody', 'postgres')).toBe('postgres')
  expect(nameOf('nobody')).toBe('nobody')
  expect(nameOf('daemon')).toBeUndefined()
  expect(chosen(passwd('wardkeep'))).toEqual({ name: 'wardkeep', uid: 100, gid: 200 })
})

test("the embedded PostgreSQL gets no environment variables, because its account's other processes could read them", () => {
  vi.stubEnv('ENCRYPTION_KEY', 'marker')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { uid = 0, gid = 0 } = { uid: process.getuid?.(), gid: process.getgid?.() }
  expect(permitted({ name: 'own', uid, gid }, 'x', [process.execPath])).toBe(true)
  const [, , options] = vi.mocked(spawnSync).mock.calls[0] ?? []
  expect(options?.env).toEqual({ PATH: '/usr/bin:/bin' })
})
