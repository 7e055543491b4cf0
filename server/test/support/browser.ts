/** A real browser: Chromium, if installed, for example with `apt-get install chromium`. */
import { existsSync } from 'node:fs'
import { chromium, type Page } from 'playwright-core'
import { atTheEnd } from './cleanup.ts'

/** Undefined if Chromium is not installed. Tests that need a browser are then skipped. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((file) =>
  existsSync(file),
)

export const BROWSER_ARGS = [
  // Tests run as root in containers, and connect only to the loopback.
  '--no-sandbox',
  '--disable-background-networking',
  '--no-proxy-server',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]

/** Opens a browser with one page. The browser closes at the end of the test or its file. */
export async function openPage(): Promise<Page> {
  const browser = await chromium.launch({ executablePath: String(CHROMIUM), args: BROWSER_ARGS })
  atTheEnd(() => browser.close())
  return browser.newPage()
}
