/** Tests how the subdomain of a tenant is found in a host name. */
import { expect, test } from 'vitest'
import { subdomainOf } from './asked-tenant.ts'

test.each([
  ['demo.clinic.example', 'demo'],
  ['demo.clinic.example:8443', 'demo'],
  ['DEMO.Clinic.Example', 'demo'],
  ['clinic.example', undefined],
  ['www.clinic.example', undefined],
  ['API.clinic.example', undefined],
  ['clinic.example:8443', undefined],
  ['.clinic.example', undefined],
  ['a.b.clinic.example', undefined],
  ['democlinic.example', undefined],
  ['demo.clinic.example.evil.test', undefined],
  ['demo.other.example', undefined],
  ['127.0.0.1', undefined],
  ['[::1]:8080', undefined],
  ['', undefined],
])('a sign-in finds the subdomain of the host "%s": %s', (host, subdomain) => {
  expect(subdomainOf(host, 'clinic.example')).toBe(subdomain)
})
