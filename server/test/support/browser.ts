/** A real browser: Chromium, if installed, for example with `apt-get install chromium-headless-shell`. */
import { existsSync } from 'node:fs'
import { chromium, type Page } from 'playwright-core'
import { atTheEnd } from './cleanup.ts'

/**
 * Undefined if Chromium is not installed. Tests that need a browser are then skipped. The headless shell is preferred,
 * because a profile with one page takes a quarter of the processor time of the whole browser.
 */
export const CHROMIUM = ['chromium-headless-shell', 'chromium', 'google-chrome']
  .map((name) => `/usr/bin/${name}`)
  .find((file) => existsSync(file))

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
