/** Helpers to use the console with the keyboard alone. */
import type { Locator, Page } from 'playwright-core'

const MAX_STEPS = 80

const hasFocus = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => element === element.ownerDocument.activeElement)

/**
 * Presses Tab until the element has the focus.
 * @throws Error when Tab never reaches it
 */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let step = 0; step < MAX_STEPS; step += 1) {
    if (await hasFocus(target)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not lead to ${target}`)
}

/** Moves to a control with Tab and presses Enter. */
export async function pressOn(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press('Enter')
}

/** Waits until the element has the focus. */
export async function waitForFocus(page: Page, target: Locator): Promise<void> {
  const element = await target.elementHandle()
  await page.waitForFunction((wanted) => wanted?.ownerDocument.activeElement === wanted, element)
}
