/** Tests the network of an address, which is an IPv4 address itself or the /64 of an IPv6 address. */
import { expect, test } from 'vitest'
import { networkOf, siteOf } from './network.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('the throttle finds the network of the IP address %s: %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test('the throttle maps two addresses of one /64 to one network, and the next /64 to another', () => {
  expect(networkOf('2001:db8:1:2:ffff::1')).toBe(networkOf('2001:db8:1:2::2'))
  expect(networkOf('2001:db8:1:3::1')).not.toBe(networkOf('2001:db8:1:2::1'))
})

test.each([
  ['2001:db8:1:2::/64', '2001:db8:1::/48'],
  ['2001:db8:1:2::/64/known', '2001:db8:1::/48/known'],
  ['203.0.113.7', '203.0.113.7'],
  ['user:7', 'user:7'],
])('the throttle finds the site of %s: %s', (network, site) => {
  expect(siteOf(network)).toBe(site)
})
