/** The mails about an account: whole as text and as HTML, whatever the names in them are. */
import { describe, expect, test } from 'vitest'
import { resetLetter, verificationLetter } from './mails.ts'

const URL = 'https://wardkeep.example/verify-email?token=7.abc_DEF-1'

describe.each([
  ['to confirm an address', verificationLetter, '24 hours'],
  ['to choose a password', resetLetter, 'one hour'],
] as const)('the mail %s', (_, compose, validity) => {
  test('says in both forms to whom, about which clinic, how long, and where to', () => {
    const { subject, text, html } = compose('Anna Berg', 'Clinic North', URL)
    expect(subject).toMatch(/^[\x20-\x7e]{5,60}$/)
    for (const part of ['Anna Berg', 'Clinic North', validity, URL]) {
      expect(text).toContain(part)
      expect(html).toContain(part)
    }
    expect(text.split('\n')).toContain(URL)
    expect(html).toContain(`href="${URL}"`)
  })

  test('holds no markup of a name, and the text has it as it is', () => {
    const name = `<img src=x onerror="alert(1)"> & 'Co'`
    const { text, html } = compose(name, name, `${URL}&a="b"`)
    expect(html).not.toContain('<img')
    expect(html).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt; &amp; &#39;Co&#39;')
    expect(html).toContain(`href="${URL}&amp;a=&quot;b&quot;"`)
    expect(text).toContain(name)
  })

  test.each([
    'Visit https://evil.test/now',
    'www.evil.test',
    'You won: evil.test',
    'eve@evil.test',
  ])('holds no link that the name %s would make', (name) => {
    const { text, html } = compose(name, 'Clinic North', URL)
    for (const part of [text, html]) expect(part).not.toContain('evil.test')
    expect(text).toContain('Hello,')
  })

  test.each(['Dr. Anna Berg', "Seán O'Neill-Meyer", 'Ä. Ö. Ü.'])('greets %s by name', (name) => {
    expect(compose(name, 'Clinic North', URL).text).toContain(`Hello ${name},`)
  })

  test('loads nothing from anywhere', () => {
    const { html } = compose('Anna Berg', 'Clinic North', URL)
    expect(html).not.toMatch(/\bsrc=|<link|<script|url\(|@import/i)
    expect(html.match(/https?:\/\//g)).toHaveLength(2)
  })
})
