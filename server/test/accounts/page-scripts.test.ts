/** What the scripts of the pages do with a link, played against the service: a page of plain objects, a real answer. */
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { mailedToken } from '../support/accounts.ts'
import { PASSWORD, superadmin } from '../support/clinics.ts'
import { pathBehind } from '../support/prefix-proxy.ts'
import { openService, type Service } from '../support/service.ts'
import { askForLink, login, newTenant, PROXIED, register, registerConfirmed } from './people.ts'

let service: Service
let open: Awaited<ReturnType<typeof newTenant>>
let asked: string[]

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  const { token } = await superadmin(service)
  open = await newTenant(service, token, { registration: 'open' })
})

beforeEach(() => {
  asked = []
})

let pages = 0

/** Opens a page at its link, as a browser does. */
async function openPage(page: 'verify-email' | 'reset-password', hash: string) {
  const listeners: Record<string, (event: object) => unknown> = {}
  const address = { path: `/${page}`, hash }
  const form = {
    hidden: false,
    elements: { password: { value: '' } },
    querySelector: () => ({ disabled: false }),
    addEventListener: (name: string, listener: (event: object) => unknown) => {
      listeners[name] = listener
    },
  }
  const status = { textContent: '' }
  vi.stubGlobal('document', {
    querySelector: (selector: string) => (selector === 'form' ? form : status),
  })
  vi.stubGlobal('location', {
    get hash() {
      return address.hash
    },
    pathname: address.path,
  })
  vi.stubGlobal('history', {
    replaceState: (_state: unknown, _title: string, url: string) => {
      address.hash = new URL(url, 'http://here').hash
    },
  })
  vi.stubGlobal('addEventListener', form.addEventListener)
  vi.stubGlobal('fetch', async (named: string, { method, headers, body }: RequestInit) => {
    const url = pathBehind(named, address.path)
    asked.push(`${url} ${body}`)
    const answer = await service.call(method ?? 'GET', url, {
      headers: headers as Record<string, string>,
      payload: String(body),
    })
    return { ok: answer.status < 300, json: async () => answer.body }
  })
  pages += 1
  const script = new URL(
    `../../src/features/auth/pages/${page}.js?opened=${pages}`,
    import.meta.url,
  )
  await import(/* @vite-ignore */ script.href)
  return {
    address,
    form,
    status,
    /** Another link is opened in the same tab. */
    openLink(next: string) {
      address.hash = next
      listeners.hashchange?.({})
    },
    async submit(password: string) {
      form.elements.password.value = password
      await listeners.submit?.({ preventDefault: () => undefined })
      return status.textContent
    },
  }
}

async function linkFor(page: 'verify-email' | 'reset-password') {
  const make = page === 'reset-password' ? registerConfirmed : register
  const { email } = await make(service, open.subdomain)
  if (page === 'reset-password') await askForLink(service, 'request-reset', email, open.subdomain)
  return { email, token: await mailedToken(service, email, page) }
}

describe('the page that confirms an address', () => {
  test('sends the token and the password, and takes the token out of the address', async () => {
    const { token } = await linkFor('verify-email')
    const page = await openPage('verify-email', `#token=${token}`)
    expect(page.address.hash).toBe('')
    expect(await page.submit(PASSWORD)).toBe('The address is confirmed')
    expect(page.form.hidden).toBe(true)
    expect(asked).toEqual([
      `/api/auth/verify-email?token=${token} ${JSON.stringify({ password: PASSWORD })}`,
    ])
  })

  test('says that the password is wrong, and lets it be typed again', async () => {
    const { token } = await linkFor('verify-email')
    const page = await openPage('verify-email', `#token=${token}`)
    expect(await page.submit('not-Theirs-5')).toMatch(/^This is not the password of the account/)
    expect(page.form.hidden).toBe(false)
    expect(await page.submit(PASSWORD)).toBe('The address is confirmed')
  })

  test('takes a second link that is opened in the same tab', async () => {
    const page = await openPage('verify-email', '#token=1.old')
    expect(await page.submit(PASSWORD)).toMatch(/^The link is invalid or has expired/)
    const { token } = await linkFor('verify-email')
    page.openLink(`#token=${token}`)
    expect(page.address.hash).toBe('')
    expect(await page.submit(PASSWORD)).toBe('The address is confirmed')
  })

  test('asks for the link where it has none, as after a reload', async () => {
    const page = await openPage('verify-email', '')
    expect([page.form.hidden, page.status.textContent]).toEqual([
      true,
      'Open the link in the mail once more.',
    ])
  })
})

test('the page for a new password sets it, and says what is wrong with one', async () => {
  const { email, token } = await linkFor('reset-password')
  const page = await openPage('reset-password', `#token=${token}`)
  expect(page.address.hash).toBe('')
  expect(await page.submit('password123')).not.toContain('Value error')
  expect(page.form.hidden).toBe(false)
  expect(await page.submit('chosen-Horse-61')).toBe('The password was changed; sign in with it')
  expect(asked.every((request) => request.startsWith('/api/auth/reset-password {'))).toBe(true)
  expect((await login(service, email, open.subdomain, 'chosen-Horse-61')).status).toBe(200)
})
