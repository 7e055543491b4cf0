/**
 * The token of a mailed link. It follows the `#` of the URL. It is removed from the URL before the router starts, and
 * is then stored only in memory.
 */

const PAGES = /\/(?:reset-password|verify-email|invitation)\/?$/

let token = ''
const listeners = new Set<() => void>()

/** Moves the token from the URL to memory, now and whenever another link is opened in this tab. */
export function watchLinkToken(): void {
  takeFromAddress()
  addEventListener('hashchange', takeFromAddress)
}

/** Returns the token, or an empty string if there is none. */
export const linkToken = (): string => token

/** Calls the listener when another link is opened. */
export function subscribeToLinkToken(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function takeFromAddress(): void {
  const found = new URLSearchParams(location.hash.slice(1)).get('token')
  if (found === null || !PAGES.test(location.pathname)) return
  history.replaceState(history.state, '', location.pathname)
  token = found
  for (const listener of listeners) listener()
}
