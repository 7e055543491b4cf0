/**
 * The token of a mailed link. It stands behind the `#` of the address, is taken from there before the router starts,
 * and then lives in memory only.
 */

const PAGES = /\/(?:reset-password|verify-email|invitation)\/?$/

let token = ''
const listeners = new Set<() => void>()

/** Takes the token from the address, now and when a second link is opened in this tab. */
export function watchLinkToken(): void {
  takeFromAddress()
  addEventListener('hashchange', takeFromAddress)
}

/** Returns the token, empty without one. */
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
