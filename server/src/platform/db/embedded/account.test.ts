/** Which account root lends the embedded server. */
import { expect, test } from 'vitest'
import { chosen } from './account.ts'

const passwd = (...names: string[]) =>
  names.map((name, at) => `${name}:x:${100 + at}:${200 + at}::/:/bin/false`).join('\n')

test('is its own where there is one, else postgres, else nobody', () => {
  const nameOf = (...names: string[]) => chosen(passwd('root', ...names))?.name
  expect(nameOf('nobody', 'postgres', 'wardkeep')).toBe('wardkeep')
  expect(nameOf('nobody', 'postgres')).toBe('postgres')
  expect(nameOf('nobody')).toBe('nobody')
  expect(nameOf('daemon')).toBeUndefined()
  expect(chosen(passwd('wardkeep'))).toEqual({ name: 'wardkeep', uid: 100, gid: 200 })
})
