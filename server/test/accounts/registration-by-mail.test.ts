/** With a mail server, links reach people, and a new user cannot sign in before confirming the address. */
import { expect, test } from 'vitest'
import { superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'
import { type Accepted, openSmtp } from '../support/smtp.ts'
import { until } from '../support/until.ts'
import {
  askForLink,
  login,
  newTenant,
  PROXIED,
  register,
  registerConfirmed,
  resetPassword,
  verifyEmail,
} from './people.ts'

async function openMailing(extra: object = {}) {
  const smtp = await openSmtp()
  const SMTP_URL = `smtp://127.0.0.1:${smtp.port}?tls=optional`
  const MAIL_FROM = 'Wardkeep <no-reply@wardkeep.test>'
  const service = await openService({
    background: ['jobs'],
    config: { ...PROXIED, ...extra, SMTP_URL, MAIL_FROM },
  })
  const { token } = await superadmin(service)
  const { subdomain } = await newTenant(service, token, { registration: 'open' })
  const mailTo = (address: string, page: string) =>
    until(`a mail reaches ${address}`, () =>
      smtp.accepted
        .filter(({ to, mail }) => to.includes(address) && mail.text?.includes(page))
        .at(-1),
    )
  return { service, smtp, subdomain, mailTo }
}

/** Returns the token in a mail's link. The text and HTML parts must contain the same token. */
function tokenIn({ mail }: Accepted, page: string): string {
  const link = new RegExp(`http://wardkeep\\.test/console/${page}#token=([^\\s"<]+)`, 'g')
  const tokens = [mail.text, mail.html].map((part = '') => [
    ...new Set([...part.matchAll(link)].map(([, token]) => token)),
  ])
  expect(tokens).toEqual([[expect.any(String)], tokens[0]])
  return decodeURIComponent(tokens[0]?.[0] ?? '')
}

test('a person registers and can sign in only after confirming the address', async () => {
  const { service, smtp, subdomain, mailTo } = await openMailing()
  const full_name = 'Zoë <b>O’Brien</b> & "Söhne"'
  const { email } = await register(service, subdomain, { full_name })
  const letter = await mailTo(email, 'verify-email')
  expect(letter.to).toEqual([email])
  expect(letter.from).toBe('no-reply@wardkeep.test')
  expect(letter.mail.subject).toBe('Confirm your e-mail address')
  // The person who registered may not own the mailbox, so the mail contains none of their text.
  for (const part of [letter.mail.text, letter.mail.html]) expect(part).not.toContain('Zoë')
  expect(letter.mail.html).toContain(`Clinic ${subdomain}`)

  const early = await login(service, email, subdomain)
  expect([early.status, early.body.code]).toEqual([403, 'email_unverified'])
  const wrong = await login(service, email, subdomain, 'not-their-Horse-1')
  expect([wrong.status, wrong.body.code]).toEqual([401, 'invalid_credentials'])

  const token = tokenIn(letter, 'verify-email')
  expect((await verifyEmail(service, token)).body.email_verified).toBe(true)
  const signedIn = await login(service, email, subdomain)
  expect(signedIn.status).toBe(200)
  const me = await service.call('GET', '/api/users/me', { token: signedIn.body.access_token })
  expect(me.body.email_verified).toBe(true)
  expect(smtp.accepted).toHaveLength(1)
})

test('choosing a new password with a reset link invalidates the confirmation link', async () => {
  const { service, subdomain, mailTo } = await openMailing()
  const { email } = await registerConfirmed(service, subdomain)
  await askForLink(service, 'request-reset', email, subdomain)
  const token = tokenIn(await mailTo(email, 'reset-password'), 'reset-password')
  expect((await resetPassword(service, token, 'renewed-Horse-5')).status).toBe(200)
  expect((await login(service, email, subdomain, 'renewed-Horse-5')).status).toBe(200)
  const old = tokenIn(await mailTo(email, 'verify-email'), 'verify-email')
  expect((await verifyEmail(service, old)).status).toBe(400)
})

test('sign-in does not require a confirmed address if confirmation is optional', async () => {
  const { service, subdomain, mailTo } = await openMailing({ EMAIL_VERIFICATION: 'optional' })
  const { email } = await register(service, subdomain)
  const signedIn = await login(service, email, subdomain)
  expect(signedIn.status).toBe(200)
  const token = tokenIn(await mailTo(email, 'verify-email'), 'verify-email')
  expect((await verifyEmail(service, token)).status).toBe(200)
})

test('a user created by an administrator can sign in before confirming the address', async () => {
  const { service, subdomain, mailTo } = await openMailing()
  const root = await superadmin(service)
  const { body: tenants } = await service.call('GET', '/api/auth/tenants')
  const tenant_id = tenants.find(
    (tenant: { subdomain: string }) => tenant.subdomain === subdomain,
  ).id
  const email = `made@${subdomain}.test`
  const body = { email, password: 'correct-Horse-9', full_name: 'Made', role: 'doctor', tenant_id }
  await service.call('POST', '/api/admin/users', { token: root.token, body })
  expect((await login(service, email, subdomain)).status).toBe(200)
  expect(tokenIn(await mailTo(email, 'verify-email'), 'verify-email')).not.toBe('')
})
