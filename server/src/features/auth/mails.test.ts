/** The mails about an account: whole as text and as HTML, whatever the names in them are. */
import { describe, expect, test } from 'vitest'
import { approvalMail, refusalMail, resetMail, verificationMail } from './mails.ts'

const URL = 'https://wardkeep.example/verify-email#token=7.abc_DEF-1'
const LINK_MAIL = { name: 'Anna Berg', clinic: 'Clinic North', url: URL }

describe.each([
  ['to confirm an address', verificationMail, '24 hours'],
  ['to choose a password', resetMail, 'one hour'],
] as const)('the mail %s', (_, compose, validity) => {
  test('says in both forms about which clinic, how long, and where to', () => {
    const { subject, text, html } = compose(LINK_MAIL)
    expect(subject).toMatch(/^[\x20-\x7e]{5,60}$/)
    for (const part of ['Clinic North', validity, URL]) {
      expect(text).toContain(part)
      expect(html).toContain(part)
    }
    expect(text.split('\n')).toContain(URL)
    expect(html).toContain(`href="${URL}"`)
  })

  test('holds no markup of a name, and the text has it as it is', () => {
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
  ])('holds no link that the name %s would make', (name) => {
    const { text, html } = compose({ ...LINK_MAIL, name })
    for (const part of [text, html]) expect(part).not.toContain('evil.test')
    expect(text).toContain('Hello,')
  })

  test('loads nothing from anywhere', () => {
    const { html } = compose(LINK_MAIL)
    expect(html).not.toMatch(/\bsrc=|<link|<script|url\(|@import/i)
    expect(html.match(/https?:\/\//g)).toHaveLength(2)
  })
})

describe('the mail about a registration', () => {
  const url = 'https://wardkeep.example/console/sign-in'

  test('links to the page that signs in once it is approved', () => {
    const { subject, text, html } = approvalMail({ clinic: 'Clinic North', url })
    expect(subject).toBe('Your registration was approved')
    expect(text).toContain('Clinic North')
    expect(text.split('\n')).toContain(url)
    expect(html).toContain(`href="${url}"`)
  })

  test('has no link once it is refused', () => {
    const { subject, text, html } = refusalMail({ clinic: 'Clinic <b>North</b>' })
    expect(subject).toBe('Your registration was not approved')
    expect(text).toContain('Clinic <b>North</b>')
    expect(html).toContain('Clinic &lt;b&gt;North&lt;/b&gt;')
    for (const part of [text, html]) expect(part).not.toContain('://')
  })
})

test.each(['Dr. Anna Berg', "Seán O'Neill-Meyer", 'Ä. Ö. Ü.'])(
  'whoever asks for a new password is greeted as %s',
  (name) => {
    expect(resetMail({ ...LINK_MAIL, name }).text).toContain(`Hello ${name},`)
  },
)

// Each was mailed to a stranger once: no filter of words would find the next.
test.each([
  'Your account is locked. Call +1 555 0100 now or lose access',
  'evil．example',
  'evil\u200b.example',
  '\u202egnp.live',
  'Anna Berg',
])('a mail to an address that is not confirmed has no word of who registered: %s', (name) => {
  for (const mail of [
    verificationMail({ ...LINK_MAIL, name }),
    resetMail({ ...LINK_MAIL, name: null }),
  ])
    expect(JSON.stringify(mail)).not.toContain(name)
})
