import { expect, test } from 'vitest'
import { deviceName } from './device.ts'

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/131.0 Safari/537.36 Edg/131.0',
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1',
    'Safari on iOS',
  ],
  ['curl/8.14', 'curl/8.14'],
  [null, 'Unknown device'],
])('the list of sessions names the device of the user agent %s', (userAgent, name) => {
  expect(deviceName(userAgent)).toBe(name)
})
