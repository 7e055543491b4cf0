/** Tests which values of SMTP_URL and MAIL_FROM are accepted, and what they mean. */
import { describe, expect, it } from 'vitest'
import { parseSender } from './addresses.ts'
import { parseSmtpUrl } from './smtp.ts'

describe('SMTP_URL', () => {
  it.each([
    ['smtp://mail.test', { port: 587, secure: false, requireTLS: true }],
    ['smtps://mail.test', { port: 465, secure: true, requireTLS: false }],
    ['smtp://mail.test:25?tls=optional', { port: 25, secure: false, requireTLS: false }],
    ['smtp://localhost:1025', { port: 1025, requireTLS: false }],
    ['smtp://127.0.0.1', { requireTLS: false }],
    ['smtp://[::1]:25', { host: '::1', requireTLS: false }],
    ['smtp://localhost?tls=required', { requireTLS: true }],
    ['smtp://127.0.0.1.evil.test', { requireTLS: true }],
  ])('parses %s', (url, settings) => {
    expect(parseSmtpUrl(url)).toMatchObject(settings)
  })

  it.each([
    'smtp://mail.test',
    'smtps://mail.test',
    'smtps://127.0.0.1',
    'smtp://user:p@mail.test:587?tls=required',
  ])('requires a valid certificate for %s', (url) => {
    expect(parseSmtpUrl(url).tls).toEqual({ rejectUnauthorized: true })
  })

  it('decodes the percent-encoded user and password', () => {
    expect(parseSmtpUrl('smtps://me%40x.test:a%2Fb%3Ac@mail.test')).toMatchObject({
      auth: { user: 'me@x.test', pass: 'a/b:c' },
    })
    expect(parseSmtpUrl('smtps://mail.test')).not.toHaveProperty('auth')
  })

  it.each([
    ['mail.test:587', 'must be a URL'],
    ['http://mail.test', 'must be a URL'],
    ['smtp://', 'must be a URL'],
    ['smtp://mail.test?tls=no', 'tls=required, tls=optional'],
    ['smtps://mail.test?tls=optional', 'must start with smtp'],
    ['smtp://user:hush@mail.test?tls=optional', 'must not contain a password'],
  ])('rejects %s with the message: %s', (url, fault) => {
    expect(() => parseSmtpUrl(url)).toThrow(fault)
    expect(() => parseSmtpUrl(url)).not.toThrow('hush')
  })
})

describe('MAIL_FROM', () => {
  it.each([
    ['Wardkeep <no-reply@clinic.test>', { name: 'Wardkeep', address: 'no-reply@clinic.test' }],
    ['"St. Mary, Ward 2" <a@b.test>', { name: 'St. Mary, Ward 2', address: 'a@b.test' }],
    ['a@b.test', { name: '', address: 'a@b.test' }],
    ['<a@b.test>', { name: '', address: 'a@b.test' }],
  ])('parses the sender %s', (text, sender) => {
    expect(parseSender(text)).toEqual(sender)
  })

  it.each([
    '',
    'Wardkeep',
    'Wardkeep <no-reply>',
    'a@b.test, c@d.test',
    'Ward\nBcc: x@y.test <a@b.test>',
    'W <a@b.test> x',
  ])('rejects %j as a sender', (text) => {
    expect(parseSender(text)).toBeUndefined()
  })
})
