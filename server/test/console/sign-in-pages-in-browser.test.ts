/** The pages of the console that need no session, at the root and below a proxy's prefix. */
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Config } from '../../src/config/config.ts'
import {
  askForLink,
  login,
  newTenant,
  PROXIED,
  register,
  registerConfirmed,
} from '../accounts/people.ts'
import { fresh } from '../sessions/users.ts'
import { codeOf, mailedToken } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { PASSWORD, signIn } from '../support/clinics.ts'
import {
  inspectPage,
  LOOKS,
  launchBrowser,
  openPerson,
  submitSignIn,
} from '../support/console-browser.ts'
import { SUPERADMIN } from '../support/open-service.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { openService, type Service } from '../support/service.ts'

const NEW_PASSWORD = 'chosen-Horse-61'

interface Scene {
  service: Service
  token: string
  subdomain: string
  base: string
}

let browser: Browser
const scenes: Record<string, Scene> = {}

async function openScene(
  config: Partial<Config>,
  listen: (service: Service) => Promise<string>,
): Promise<Scene> {
  const service = await openService({
    background: ['jobs'],
    config: { ...PROXIED, ...config },
    consoleFolder: await builtConsole(),
  })
  // The prefix is part of the issuer, so the service rejects a token that was issued without it.
  const { access_token: token } = await signIn(service, { ...SUPERADMIN, subdomain: 'platform' })
  const { subdomain } = await newTenant(service, token, { registration: 'open' })
  return { service, token, subdomain, base: await listen(service) }
}

beforeAll(async () => {
  if (!CHROMIUM) return
  scenes.root = await openScene({}, ({ app }) => app.server.listen({ host: '127.0.0.1', port: 0 }))
  scenes.prefix = await openScene({ PUBLIC_URL: 'http://wardkeep.test/app' }, openPrefixProxy)
  browser = await launchBrowser()
})

const sceneAt = (at: string) => scenes[at] as Scene

async function newPage(base: string, ...expected: number[]): Promise<Page> {
  const person = await openPerson(browser, base)
  person.expectStatus(...expected)
  return person.newTab()
}

const heading = (page: Page, name: string) =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

const choosePassword = async (page: Page, password: string) => {
  await page.getByLabel('New password').fill(password)
  await page.getByRole('button', { name: 'Set the password' }).click()
}

/** Creates a user with a password that has to be changed. */
async function newUser({ service, token, subdomain }: Scene) {
  const email = `${fresh('made')}@${subdomain}.test`
  const { body } = await service.call('GET', '/api/admin/tenants', { token })
  const { id } = body.find((tenant: { subdomain: string }) => tenant.subdomain === subdomain)
  const made = await service.call('POST', '/api/admin/users', {
    token,
    body: { email, full_name: 'Ines Nováková', role: 'nurse', tenant_id: id },
  })
  expect(made.status).toBe(201)
  return email
}

describe.skipIf(!CHROMIUM).each(['root', 'prefix'])(
  'the sign-in pages, with PUBLIC_URL at the %s,',
  (at) => {
    it('set a new password with a mailed link, and remove the token from the URL', async () => {
      const { service, subdomain, base } = sceneAt(at)
      const { email } = await registerConfirmed(service, subdomain)
      await askForLink(service, 'request-reset', email, subdomain)
      const link = await mailedToken(service, email, 'reset-password')
      const page = await newPage(base)
      // The former URL, which earlier mails contain.
      await page.goto(`${base}/reset-password#token=${encodeURIComponent(link)}`)
      await page.waitForURL(`${base}/console/reset-password`)
      await choosePassword(page, NEW_PASSWORD)
      await heading(page, 'Your password was changed')
      expect((await login(service, email, subdomain, NEW_PASSWORD)).status).toBe(200)
    })

    it('confirm an address with a mailed link and the password', async () => {
      const { service, subdomain, base } = sceneAt(at)
      const { email } = await register(service, subdomain)
      const link = await mailedToken(service, email, 'verify-email')
      const page = await newPage(base)
      await page.goto(`${base}/console/verify-email#token=${encodeURIComponent(link)}`)
      await page.getByLabel('Password of the account').fill(PASSWORD)
      await page.getByRole('button', { name: 'Confirm the address' }).click()
      await heading(page, 'Your e-mail address is confirmed')
    })

    it('sign a person in, and then show the requested page, after a reload too', async () => {
      const { service, subdomain, base } = sceneAt(at)
      const { email } = await registerConfirmed(service, subdomain)
      const page = await newPage(base)
      await page.goto(`${base}/console/account`)
      await submitSignIn(page, { email, password: PASSWORD, subdomain })
      await page.waitForURL(`${base}/console/account`)
      await page.reload()
      await page.getByText(email).first().waitFor()
    })
  },
)

describe.skipIf(!CHROMIUM)('a person on the sign-in pages', () => {
  it('accepts an invitation and signs in', async () => {
    const scene = sceneAt('root')
    const { service, subdomain, base } = scene
    const email = await newUser(scene)
    const link = await mailedToken(service, email, 'invitation')
    const page = await newPage(base)
    await page.goto(`${base}/console/invitation#token=${encodeURIComponent(link)}`)
    await choosePassword(page, NEW_PASSWORD)
    await heading(page, 'Your account is ready')
    await page.getByRole('link', { name: 'Sign in', exact: true }).click()
    await submitSignIn(page, { email, password: NEW_PASSWORD, subdomain })
    await page.getByText(email).first().waitFor()
  })

  it('registers, and sees what happens next', async () => {
    const { subdomain, base } = sceneAt('root')
    const page = await newPage(base)
    await page.goto(`${base}/console/register`)
    await page.getByLabel('Clinic').fill(subdomain)
    await page.getByLabel('Your role').selectOption('nurse')
    await page.getByLabel('Full name').fill('Zoë <b>Bold</b>')
    const email = `${fresh('zoe')}@${subdomain}.test`
    await page.getByLabel('E-mail').fill(email)
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Request the account' }).click()
    // Without a mail server, nobody has to confirm their address.
    await heading(page, 'Your account is ready')
  })

  it('sees each error of a form next to its field, using only the keyboard', async () => {
    const { base } = sceneAt('root')
    const page = await newPage(base, 422)
    await page.goto(`${base}/console/register`)
    await page.getByLabel('Clinic').focus()
    await page.keyboard.press('Enter')
    const faults = page.getByRole('alert').getByRole('link')
    await faults.first().waitFor()
    await faults.filter({ hasText: 'name' }).first().focus()
    await page.keyboard.press('Enter')
    const name = page.getByLabel('Full name')
    expect(await name.getAttribute('aria-invalid')).toBe('true')
    expect(await name.evaluate('document.activeElement.id')).toBe(await name.getAttribute('id'))
  })

  it('replaces a password that an administrator has set, and sets up a required second factor', async () => {
    const { service, token, base } = sceneAt('root')
    const demanding = await newTenant(service, token, { require_totp: ['nurse'] })
    const whom = { subdomain: demanding.subdomain, password: PASSWORD }
    const email = `${fresh('made')}@${demanding.subdomain}.test`
    await service.call('POST', '/api/admin/users', {
      token,
      body: {
        ...{ email, password: PASSWORD, full_name: 'Ines', role: 'nurse' },
        ...{ tenant_id: demanding.id, must_change_password: true },
      },
    })
    const page = await newPage(base, 401)
    await page.goto(`${base}/console/sign-in`)
    await submitSignIn(page, { ...whom, email })
    await heading(page, 'Choose your own password')
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByLabel('New password', { exact: true }).fill(NEW_PASSWORD)
    await page.getByRole('button', { name: 'Change the password' }).click()
    await heading(page, 'Set up your second factor')
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    const secret = (await page.locator('code').first().innerText()).replaceAll(/\s/g, '')
    await page.getByLabel('Code', { exact: true }).fill(codeOf(service, secret))
    await page.getByRole('button', { name: 'Turn on the second factor' }).click()
    await heading(page, 'Keep your recovery codes')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText('Keep the codes, then tick the box.').first().waitFor()
    await page.getByLabel('I have kept them').check()
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText(email).first().waitFor()
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    const PAGES = {
      'sign-in': 'sign-in',
      register: 'register',
      forgotten: 'forgotten',
      'reset-password': 'reset-password#token=1.abc',
      invitation: 'invitation#token=1.abc',
      'verify-email': 'verify-email#token=1.abc',
      'incomplete-link': 'reset-password',
      'not-found': 'nowhere',
    }

    it('every sign-in page is accessible and fits the window', async () => {
      const { base } = sceneAt('root')
      const person = await openPerson(browser, base, {
        colorScheme: theme,
        viewport: { width, height: 800 },
      })
      const page = await person.newTab()
      for (const [name, path] of Object.entries(PAGES)) {
        await page.goto('about:blank')
        await page.goto(`${base}/console/${path}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await inspectPage(page, `${name}-${theme}-${width}`)
      }
    })
  },
)
