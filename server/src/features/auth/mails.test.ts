/** Tests that account mails are complete in text and HTML, and that no name can inject markup or links. */
import { describe, expect, test } from 'vitest'
import { approvalMail, refusalMail, resetMail, verificationMail } from './mails.ts'

const URL = 'https://wardkeep.example/verify-email#token=7.abc_DEF-1'
const LINK_MAIL = { name: 'Anna Berg', clinic: 'Clinic North', url: URL }

describe.each([
  ['to confirm an address', verificationMail, '24 hours'],
  ['to choose a password', resetMail, 'one hour'],
] as const)('the mail %s', (_, compose, validity) => {
  test('contains the clinic, the validity and the link in text and HTML', () => {
    const { subject, text, html } = compose(LINK_MAIL)
    expect(subject).toMatch(/^[\x20-\x7e]{5,60}$/)
    for (const part of ['Clinic North', validity, URL]) {
      expect(text).toContain(part)
      expect(html).toContain(part)
    }
    expect(text.split('\n')).toContain(URL)
    expect(html).toContain(`href="${URL}"`)
  })

  test('escapes markup in a name in HTML, and keeps the name unchanged in text', () => {
    const clinic = `<img src=x onerror="alert(1)"> & 'Co'`
    const { text, html } = compose({ name: clinic, clinic, url: `${URL}&a="b"` })
    expect(html).not.toContain('<img')
    expect(html).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt; &amp; &#39;Co&#39;')
    expect(html).toContain(`href="${URL}&amp;a=&quot;b&quot;"`)
    expect(text).toContain(clinic)
  })

  test.each([
    'Visit https://evil.test/now',
    'www.evil.test',
    'You won: evil.test',
    'eve@evil.test',
  ])('contains no link if the name is %s', (name) => {
    const { text, html } = compose({ ...LINK_MAIL, name })
    for (const part of [text, html]) expect(part).not.toContain('evil.test')
    expect(text).toContain('Hello,')
  })

  test('loads no images, scripts or styles from other servers', () => {
    const { html } = compose(LINK_MAIL)
    expect(html).not.toMatch(/\bsrc=|<link|<script|url\(|@import/i)
    expect(html.match(/https?:\/\//g)).toHaveLength(2)
  })
})

describe('the mail about a registration', () => {
  const url = 'https://wardkeep.example/console/sign-in'

  test('links to the sign-in page after an approval', () => {
    const { subject, text, html } = approvalMail({ clinic: 'Clinic North', url })
    expect(subject).toBe('Your registration was approved')
    expect(text).toContain('Clinic North')
    expect(text.split('\n')).toContain(url)
    expect(html).toContain(`href="${url}"`)
  })

  test('contains no link after a refusal', () => {
    const { subject, text, html } = refusalMail({ clinic: 'Clinic <b>North</b>' })
    expect(subject).toBe('Your registration was not approved')
    expect(text).toContain('Clinic <b>North</b>')
    expect(html).toContain('Clinic &lt;b&gt;North&lt;/b&gt;')
    for (const part of [text, html]) expect(part).not.toContain('://')
  })
})

test.each(['Dr. Anna Berg', "Seán O'Neill-Meyer", 'Ä. Ö. Ü.'])(
  'the service greets the recipient of a password reset link as %s',
  (name) => {
    expect(resetMail({ ...LINK_MAIL, name }).text).toContain(`Hello ${name},`)
  },
)

// Attackers have mailed these texts to other people by registering them as names. A filter for single words would miss
// variants.
test.each([
  'Your account is locked. Call +1 555 0100 now or lose access',
  'evil．example',
  'evil\u200b.example',
  '\u202egnp.live',
  'Anna Berg',
])('the service puts no name into a mail to an unconfirmed address if the name is "%s"', (name) => {
  for (const mail of [
    verificationMail({ ...LINK_MAIL, name }),
    resetMail({ ...LINK_MAIL, name: null }),
  ])
    expect(JSON.stringify(mail)).not.toContain(name)
})
