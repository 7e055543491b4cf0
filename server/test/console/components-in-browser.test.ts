/** The parts of the console by keyboard, following the ARIA Authoring Practices, in a real browser. */
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/browser.ts'
import { inspectPage, LOOKS, openPerson, type Person } from '../support/console-browser.ts'
import { type ConsoleScene, isFocused, openAs, openConsole } from './scene.ts'

let scene: ConsoleScene
let reader: Person

beforeAll(async () => {
  if (!CHROMIUM) return
  scene = await openConsole()
  reader = await openPerson(scene.browser, scene.base)
})

async function openParts(person = reader): Promise<Page> {
  const page = await person.newTab()
  await page.goto('/console/parts')
  await page.getByRole('heading', { level: 1, name: 'Parts' }).waitFor()
  return page
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key)
}

/** Waits until an attribute has a value. */
const has = (target: Locator, name: string, value: string | null) =>
  expect.poll(() => target.getAttribute(name)).toBe(value)

const peopleOf = (page: Page) => page.getByRole('table', { name: /^People, sorted/ })
const linksOf = (page: Page) => peopleOf(page).getByRole('rowheader').getByRole('link')
const chosenIn = (page: Page) =>
  peopleOf(page).locator('tbody').getByRole('checkbox', { checked: true })

describe.skipIf(!CHROMIUM)('a control with choices, operated by keyboard,', () => {
  it('is a combobox that opens, moves, filters, chooses and closes', async () => {
    const page = await openParts()
    const box = page.getByRole('combobox', { name: 'Department' })
    const options = page.getByRole('listbox', { name: 'Department' }).getByRole('option')
    const isActive = async (at: number) =>
      has(box, 'aria-activedescendant', await options.nth(at).getAttribute('id'))
    await box.focus()
    await has(box, 'aria-expanded', 'false')
    await press(page, 'ArrowDown')
    await has(box, 'aria-expanded', 'true')
    await isActive(0)
    await press(page, 'ArrowDown', 'ArrowDown', 'ArrowUp')
    await isActive(1)
    const label = await options.nth(1).innerText()
    await press(page, 'Enter')
    await has(box, 'aria-expanded', 'false')
    expect(await box.inputValue()).toBe(label)
    await box.fill('radio')
    expect(await options.allInnerTexts()).toEqual(['Radiology'])
    await press(page, 'Escape')
    await has(box, 'aria-expanded', 'false')
    expect(await box.inputValue()).toBe(label)
    await isFocused(box)
  })

  it('is a menu that opens at either end, wraps around, runs the action and returns the focus', async () => {
    const page = await openParts()
    const opener = button(page, 'Menu')
    const items = page.getByRole('menuitem')
    await opener.focus()
    await press(page, 'ArrowDown')
    await isFocused(items.first())
    await press(page, 'ArrowUp')
    await isFocused(items.last())
    await press(page, 'ArrowDown', 'End', 'Home')
    await isFocused(items.first())
    await press(page, 'Escape')
    await items.first().waitFor({ state: 'hidden' })
    await isFocused(opener)
    await press(page, 'ArrowUp')
    await isFocused(items.last())
    await press(page, 'Enter')
    await page.getByText('Started.').waitFor()
  })

  it('is a list of tabs that follows the arrow keys and has a single tab stop', async () => {
    const page = await openParts()
    await linksOf(page).first().click()
    const tabs = page.getByRole('tab')
    await tabs.first().focus()
    await press(page, 'ArrowRight')
    await isFocused(tabs.nth(1))
    await has(tabs.nth(1), 'aria-selected', 'true')
    await page.getByRole('tabpanel', { name: 'Sessions' }).getByText('Not signed in.').waitFor()
    await press(page, 'End')
    await has(tabs.last(), 'aria-selected', 'true')
    await press(page, 'ArrowRight')
    await isFocused(tabs.first())
    expect(await page.getByRole('tablist').locator('[tabindex="0"]').count()).toBe(1)
  })
})

describe.skipIf(!CHROMIUM)('a floating part of the console', () => {
  it('that is a dialog takes the focus, closes with Escape and returns the focus', async () => {
    const page = await openParts()
    await button(page, 'Dialog').focus()
    await press(page, 'Enter')
    const dialog = page.getByRole('dialog', { name: 'Rename Cardiology' })
    await isFocused(dialog.getByRole('button', { name: 'Rename Cardiology' }))
    await press(page, 'Escape')
    await dialog.waitFor({ state: 'detached' })
    await isFocused(button(page, 'Dialog'))
  })

  it('that confirms a dangerous action focuses Cancel and keeps the focus inside', async () => {
    const page = await openParts()
    await button(page, 'ConfirmDanger').focus()
    await press(page, 'Enter')
    const question = page.getByRole('alertdialog', { name: 'Block Nora Pfleger' })
    await isFocused(question.getByRole('button', { name: 'Cancel' }))
    await press(page, 'Tab')
    await isFocused(question.getByRole('button', { name: 'Block Nora Pfleger' }))
    await press(page, 'Escape')
    await question.waitFor({ state: 'detached' })
    await isFocused(button(page, 'ConfirmDanger'))
  })

  it('that confirms a permanent action requires the name, and the password if the service asks for it', async () => {
    const page = await openParts()
    await button(page, 'ConfirmFinal').click()
    const question = page.getByRole('alertdialog', { name: 'Restore Demo Clinic' })
    await question.getByLabel('Type demo to confirm').fill('dem')
    await press(page, 'Enter')
    await question.getByText('This does not match.').waitFor()
    await question.getByLabel('Type demo to confirm').fill('demo')
    await press(page, 'Enter')
    await isFocused(question.getByLabel('Your password'))
    await press(page, 'Enter')
    await question.getByText('Enter your password.').waitFor()
    await question.getByLabel('Your password').fill('secret')
    await press(page, 'Enter')
    await question.waitFor({ state: 'detached' })
  })

  it('that is a message offers Undo after an action', async () => {
    const page = await openParts()
    await button(page, 'Toast').click()
    await page.getByRole('status').getByText('Blocked Dalia Lindqvist.').waitFor()
    await button(page, 'Undo').focus()
    await press(page, 'Enter')
    await page.getByText('Unblocked.').waitFor()
    expect(await page.getByText('Blocked Dalia Lindqvist.').count()).toBe(0)
  })

  it('that is the command palette opens anywhere with Ctrl+K and finds a page', async () => {
    const { page } = await openAs(scene, scene.clinic.people.admin, { at: '/departments' })
    await press(page, 'Control+k')
    const palette = page.getByRole('combobox', { name: /^Search people/ })
    await isFocused(palette)
    await palette.fill('my acc')
    await page.getByRole('option', { name: 'My account' }).waitFor()
    await press(page, 'Enter')
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor()
    await press(page, 'Control+k')
    await isFocused(palette)
    await press(page, 'Escape')
    await palette.waitFor({ state: 'detached' })
  })
})

describe.skipIf(!CHROMIUM)('a table operated by keyboard', () => {
  it('moves between rows, selects rows, and opens and closes a record', async () => {
    const page = await openParts()
    const links = linksOf(page)
    await press(page, 'j')
    await isFocused(links.first())
    await press(page, 'j', 'j', 'k')
    await isFocused(links.nth(1))
    await press(page, 'ArrowDown', 'ArrowDown', 'ArrowUp')
    await isFocused(links.nth(2))
    await press(page, 'x')
    expect(await chosenIn(page).count()).toBe(1)
    await press(page, 'j', 'j', 'Shift+X')
    expect(await chosenIn(page).count()).toBe(3)
    const name = await links.nth(4).innerText()
    await press(page, 'Enter')
    const panel = page.getByRole('complementary', { name })
    await isFocused(panel.getByRole('heading', { name }))
    const next = await links.nth(5).innerText()
    await press(page, 'j')
    await page.getByRole('complementary', { name: next }).waitFor()
    await press(page, 'Escape')
    await page.getByRole('complementary').waitFor({ state: 'detached' })
    await isFocused(links.nth(5))
    await press(page, ']')
    await page.getByText('21–40 of 312').waitFor()
    await press(page, '[')
    await page.getByText('1–20 of 312').waitFor()
  })

  it('leaves letter keys to text fields, and ignores them once shortcuts are turned off', async () => {
    const person = await openPerson(scene.browser, scene.base)
    const page = await openParts(person)
    const search = page.getByLabel('Name or e-mail')
    await press(page, '/')
    await isFocused(search)
    await page.keyboard.type('jx')
    await isFocused(search)
    expect(await search.inputValue()).toBe('jx')
    expect(await chosenIn(page).count()).toBe(0)
    await search.fill('')
    await linksOf(page).first().focus()
    await button(page, 'Keyboard shortcuts').click()
    await page.getByLabel('Use shortcuts of single letters').uncheck()
    await press(page, 'Escape')
    await linksOf(page).first().focus()
    await press(page, 'j', 'x')
    await isFocused(linksOf(page).first())
    expect(await chosenIn(page).count()).toBe(0)
    await press(page, 'ArrowDown')
    await isFocused(linksOf(page).nth(1))
  })
})

describe.skipIf(!CHROMIUM)('a chart', () => {
  it('announces its values with the arrow keys, and can be shown as a table', async () => {
    const page = await openParts()
    const chart = page.getByRole('slider', { name: 'Sign-ins' })
    await chart.focus()
    await has(chart, 'aria-valuenow', '23')
    await press(page, 'ArrowLeft', 'ArrowLeft')
    await has(chart, 'aria-valuenow', '21')
    expect(await chart.getAttribute('aria-valuetext')).toMatch(/: Signed in \d+, Refused \d+$/)
    await press(page, 'Home')
    await has(chart, 'aria-valuenow', '0')
    await press(page, 'ArrowLeft')
    await has(chart, 'aria-valuenow', '0')
    await press(page, 'End', 'ArrowRight')
    await has(chart, 'aria-valuenow', '23')
    await button(page, 'Show as table: Sign-ins').click()
    const table = page.getByRole('region', { name: 'Sign-ins, as a table' })
    expect(await table.getByRole('row').count()).toBe(25)
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('every part of the console is accessible and fits the window', async () => {
      const look = { colorScheme: theme, viewport: { width, height: 800 } }
      const page = await openParts(await openPerson(scene.browser, scene.base, look))
      await inspectPage(page, `parts-${theme}-${width}`)
    })
  },
)
