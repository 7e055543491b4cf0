import { expect, test } from 'vitest'
import { readOptions } from './options.ts'

const KNOWN = ['switchover', 'freeze', 'etcd']

test('the cluster test runs all scenarios by default', () => {
  expect(readOptions([], KNOWN)).toEqual({
    scenarios: KNOWN,
    etcd: 3,
    freezeSeconds: 45,
    keep: false,
  })
})

test('the cluster test runs scenarios in the order of the command line', () => {
  const given = ['etcd', 'switchover', '--etcd', '2', '--freeze', '80', '--keep']
  expect(readOptions(given, KNOWN)).toEqual({
    scenarios: ['switchover', 'etcd'],
    etcd: 2,
    freezeSeconds: 80,
    keep: true,
  })
})

test.each([
  [['flood'], /^Unknown scenario: flood\./],
  [['--etcd', '4'], /^--etcd must be 2 or 3\./],
  [['--freeze', 'long'], /^--freeze must be a number/],
  [['--loud'], /^Unknown option '--loud'/],
])('the cluster test refuses the options %j and prints the usage', (args, message) => {
  expect(() => readOptions(args, KNOWN)).toThrow(message)
  expect(() => readOptions(args, KNOWN)).toThrow(/switchover, freeze, etcd$/)
})
