import { expect, test } from 'vitest'
import { prefixOf } from './prefix.ts'

test.each([
  ['https://clinic.example/console/assets/index-a1.js', ''],
  ['https://clinic.example/wardkeep/console/assets/index-a1.js', '/wardkeep'],
  ['https://clinic.example/a/b/console/assets/index-a1.js', '/a/b'],
  ['https://clinic.example/console/console/assets/index-a1.js', '/console'],
  ['http://localhost:5173/console/src/api/prefix.ts', ''],
  ['https://clinic.example/elsewhere/index.js', ''],
])('the console finds the path prefix of the service in the script URL %s', (moduleUrl, prefix) => {
  expect(prefixOf(moduleUrl)).toBe(prefix)
})
