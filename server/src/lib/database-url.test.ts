/** Tests PostgreSQL URLs with several hosts, and URL parameters that are rejected. */
import { describe, expect, test } from 'vitest'
import { requireSupported, urlsOfHosts } from './database-url.ts'

test.each([
  ['postgres://u:p@one/db', ['postgres://u:p@one/db']],
  ['postgresql://u@one:1,two:2/db', ['postgresql://u@one:1/db', 'postgresql://u@two:2/db']],
  [
    'postgres://u:p%40%2C@[::1]:5432,[fd00::2]/db?sslmode=require',
    [
      'postgres://u:p%40%2C@[::1]:5432/db?sslmode=require',
      'postgres://u:p%40%2C@[fd00::2]/db?sslmode=require',
    ],
  ],
  ['postgres:///db?host=/run/pg', ['postgres:///db?host=/run/pg']],
  ['postgres://u@%2Frun%2Fpg/db', ['postgres://u@%2Frun%2Fpg/db']],
  [
    'postgres://u@one,two/db?target_session_attrs=any&application_name=x',
    ['postgres://u@one/db', 'postgres://u@two/db'],
  ],
])('the service splits %s into one URL per host', (text, urls) => {
  expect(urlsOfHosts(text).map((url) => decodeURIComponent(url))).toEqual(
    urls.map((url) => decodeURIComponent(url)),
  )
})

describe('checking a database URL', () => {
  test.each([
    'postgres://u:p@one,two:5433/db?target_session_attrs=read-write&sslmode=verify-full',
    'postgres://u:p@one/db?options=-c%20work_mem%3D5MB',
    'postgres://u@localhost/db?host=/run/pg&port=5433',
  ])('accepts %s', (text) => {
    expect(() => requireSupported(text)).not.toThrow()
  })

  test.each([
    ['postgres://u:hunter2@h/db?statement_timeout=1', /parameter statement_timeout.*Remove it/],
    ['postgres://u:hunter2@h/db?gssencmode=disable', /parameter gssencmode/],
    [
      'postgres://u:hunter2@h/db?target_session_attrs=standby',
      /must be one of any, read-write, primary/,
    ],
    ['postgres://u:hunter2@h/db?host=one,two', /list its hosts before the database/],
    ['postgres://u:hunter2@one,,two/db', /must be a URL/],
    ['postgres://u:hunter2@one:x/db', /must be a URL/],
    ['postgres://u:one?hunter2@h/db', /must be a URL/],
    ['mysql://u:hunter2@h/db', /must be a URL/],
  ])('rejects %s without printing its password', (text, reason) => {
    expect(() => requireSupported(text)).toThrow(reason)
    expect(() => requireSupported(text)).not.toThrow(/hunter2/)
  })
})
