import { expect, test } from 'vitest'
import { findPrograms, patroniWarning } from './programs.ts'

test('the cluster test uses the first program found on the search path', () => {
  const programs = findPrograms('/opt/bin:/usr/bin', (file) => !file.startsWith('/usr/bin/patroni'))
  expect(programs).toMatchObject({
    patroni: '/opt/bin/patroni',
    postgres: '/usr/lib/postgresql/15/bin/postgres',
  })
})

test('the cluster test names each missing Debian package once', () => {
  expect(() => findPrograms('/usr/bin', (file) => /haproxy|postgres$/.test(file))).toThrow(
    'Programs are missing. Install the Debian packages: apt-get install patroni etcd-server pgbouncer.',
  )
})

test.each(['patroni 3.0.3', 'patroni 3.1.0', 'patroni 4.0.6'])(
  'the cluster test accepts %s',
  (version) => {
    expect(patroniWarning(version, 3)).toBeUndefined()
  },
)

test('the cluster test warns about a Patroni before 3.0.3 with version 3 of the etcd API', () => {
  expect(patroniWarning('patroni 3.0.2', 3)).toMatch(/^Patroni 3\.0\.2 may lose/)
  expect(patroniWarning('patroni 3.0.2', 2)).toBeUndefined()
})
