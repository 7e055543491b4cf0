/**
 * The token of a mailed link. It follows the `#` of the address, is removed from there before the router starts, and is
 * then held in memory only.
 */

const PAGES = /\/(?:reset-password|verify-email|invitation)\/?$/

let token = ''
const listeners = new Set<() => void>()

/** Moves the token from the address to memory, now and when another link is opened in this tab. */
export function watchLinkToken(): void {
  takeFromAddress()
  addEventListener('hashchange', takeFromAddress)
}

/** Returns the token, or an empty text if there is none. */
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
