/** Tests addresses of callers. They are normalized, so that all notations of an address are equal. */
import { expect, test } from 'vitest'
import { networkOf } from '../../lib/network.ts'
import { writtenAddress } from './address.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:51344', '203.0.113.7'],
  ['[203.0.113.7]:51344', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:203.0.113.7', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
  ['2001:db8::1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['2001:db8::1:443', '2001:db8::1:443'],
  ['unknown', undefined],
  ['_hidden', undefined],
  ['', undefined],
  ['203.0.113.7:', undefined],
  ['203.0.113.300:443', undefined],
  ['[]:443', undefined],
  ['[2001:db8::1', undefined],
])('the service reads "%s" as the IP address %s', (text, address) => {
  expect(writtenAddress(text)).toBe(address)
})

test('the service treats two ports of one IP address as the same network', () => {
  const networks = ['203.0.113.7:51344', '203.0.113.7:51345', '::ffff:203.0.113.7', '203.0.113.7']
    .map(writtenAddress)
    .map((address) => networkOf(address ?? ''))
  expect(new Set(networks)).toEqual(new Set(['203.0.113.7']))
})
