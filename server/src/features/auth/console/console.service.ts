/** The session of the console in a browser: signs in, continues and signs out by a cookie that no script can read. */

import type { Origin } from '../../../platform/access/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { ConsoleTokens } from '../sessions/sessions.schema.ts'
import type { Sessions } from '../sessions/sessions.service.ts'
import type { Credentials } from '../sign-in/sign-in.schema.ts'
import type { SignIn } from '../sign-in/sign-in.service.ts'

/** Where a browser keeps the refresh token of its session. */
interface TokenKeeper {
  readonly token: string | undefined
  keep(token: string): void
  clear(): void
}

export interface ConsoleSessions {
  /** Signs in as `SignIn.login` does. A session that the browser had before is ended. */
  signIn(
    credentials: Credentials,
    call: { host: string; origin: Origin; browser: TokenKeeper },
  ): Promise<ConsoleTokens>
  /** Returns undefined without a cookie. @throws Problem 401 once the session is over, 503 during a restore */
  refresh(browser: TokenKeeper, origin: Origin): Promise<ConsoleTokens | undefined>
  /** Ends the session of the cookie, if there is one. */
  signOut(browser: TokenKeeper, origin: Origin): Promise<void>
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
        // A code of a second factor is used up by now, so the sign-in has to succeed.
        const ending = sessions.signOutConsole(browser.token, origin)
        await canFail(ending, "ending the browser's previous session", log)
      }
      return tokens
    },

    async refresh(browser, origin) {
      if (!browser.token) return undefined
      // A refused cookie stays: clearing it late could clear that of a newer sign-in.
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
