/** Remembers until when the session is confirmed, so that the console asks for the password before the service would. */

const STORED = 'wardkeep.confirmed'
/** The time for which the service accepts a confirmation, in milliseconds. */
const CONFIRMED_MS = 5 * 60_000

/** Remembers that this tab has confirmed the session now, also after the page is loaded again. */
export const rememberConfirmation = (): void =>
  sessionStorage.setItem(STORED, String(Date.now() + CONFIRMED_MS))

/** Forgets the confirmation at the end of the session. */
export const forgetConfirmation = (): void => sessionStorage.removeItem(STORED)

/** Returns true if this tab has confirmed the session within the last five minutes. The service decides. */
export const isSessionConfirmed = (): boolean => Number(sessionStorage.getItem(STORED)) > Date.now()
