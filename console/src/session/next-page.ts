/** Decides which page a user sees after signing in. */

import { CONSOLE_PATH } from '../api/prefix.ts'

const MAX_LENGTH = 2000
const ANY_ORIGIN = 'http://console.invalid'

/** Pages to which a signed-in user is never returned. */
const ENTRY_PAGES = new Set(['/sign-in', '/new-password', '/second-factor'])

/**
 * Returns `next` if it is a page of the console, otherwise undefined. Rejects anything that a browser could interpret
 * as another origin.
 * @param next a path relative to the console, from the URL
 */
export function safeNext(next: unknown): string | undefined {
  if (typeof next !== 'string' || next.length > MAX_LENGTH) return undefined
  if (!next.startsWith('/') || !isPlain(next)) return undefined
  const url = URL.parse(next, ANY_ORIGIN)
  if (!url || url.origin !== ANY_ORIGIN || url.pathname.startsWith('//')) return undefined
  return ENTRY_PAGES.has(url.pathname) ? undefined : `${url.pathname}${url.search}${url.hash}`
}

/** Returns the URL of the page in `next`, or of the start page. */
export const hrefOfNext = (next: unknown): string => `${CONSOLE_PATH}${safeNext(next) ?? '/'}`

/** True if the path contains no backslashes, spaces or control characters, because browsers rewrite or drop them. */
const isPlain = (text: string): boolean => /^[^\\\s\p{Cc}\p{Cf}]*$/u.test(text)
