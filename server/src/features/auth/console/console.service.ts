/** Manages the console's session in a browser. The refresh token is stored in a cookie that scripts cannot read. */

import type { Origin } from '../../../platform/access/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Credentials } from '../auth.schema.ts'
import type { ConsoleTokens } from '../sessions/sessions.schema.ts'
import type { Sessions } from '../sessions/sessions.service.ts'
import type { SignIn } from '../sign-in/sign-in.service.ts'

interface TokenCookie {
  readonly token: string | undefined
  keep(token: string): void
  clear(): void
}

export interface ConsoleSessions {
  /** Signs in like `SignIn.login`. Then ends the previous session of the same browser. */
  signIn(
    credentials: Credentials,
    call: { host: string; origin: Origin; browser: TokenCookie },
  ): Promise<ConsoleTokens>
  /** Refreshes the session; undefined without a cookie. @throws Problem 401 for an ended session, 503 in a restore */
  refresh(browser: TokenCookie, origin: Origin): Promise<ConsoleTokens | undefined>
  /** Ends the session that the cookie belongs to. Does nothing without a cookie. */
  signOut(browser: TokenCookie, origin: Origin): Promise<void>
}

export function consoleSessions(
  sessions: Pick<Sessions, 'consoleTokens' | 'refreshConsole' | 'signOutConsole'>,
  { loginToConsole }: Pick<SignIn, 'loginToConsole'>,
  log: Logger,
): ConsoleSessions {
  return {
    async signIn(credentials, { host, origin, browser }) {
      const issued = await loginToConsole(credentials, host, origin)
      const { tokens, refresh } = sessions.consoleTokens(issued)
      browser.keep(refresh)
      if (browser.token) {
        // A failure here must not fail the sign-in, because the code of the second factor works only once.
        const ending = sessions.signOutConsole(browser.token, origin)
        await canFail(ending, 'ending of the previous browser session', log)
      }
      return tokens
    },

    async refresh(browser, origin) {
      if (!browser.token) return undefined
      // Keeps the cookie if the refresh fails. A late response would otherwise clear the cookie of a newer sign-in.
      const { tokens, refresh } = await sessions.refreshConsole(browser.token, origin)
      if (refresh !== browser.token) browser.keep(refresh)
      return tokens
    },

    async signOut(browser, origin) {
      if (browser.token) await sessions.signOutConsole(browser.token, origin)
      browser.clear()
    },
  }
}
