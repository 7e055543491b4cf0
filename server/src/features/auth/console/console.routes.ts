import Type from 'typebox'
import { anyone, signedIn } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { Credentials } from '../auth.schema.ts'
import { ConsoleTokens } from '../sessions/sessions.schema.ts'
import { SIGN_IN_REFUSALS } from '../sign-in/sign-in.routes.ts'
import type { Confirmations } from './confirmation.service.ts'
import { Confirmation, ConfirmationRequest } from './console.schema.ts'
import type { ConsoleSessions } from './console.service.ts'
import { type AskWelcome, Welcome } from './welcome.ts'

const NOTHING = Type.Object({})

const OWN_PAGES =
  'Only pages of this service may call it: it requires `Sec-Fetch-Site: same-origin`, or an `Origin` of the service from browsers that do not send that header.'

export function consoleOperations(
  console: ConsoleSessions,
  confirmations: Confirmations,
  welcome: AskWelcome,
): AnyOperation[] {
  const common = { tag: 'Console', access: anyone, browserSession: true } as const
  return [
    operation({
      ...common,
      method: 'POST',
      path: '/api/console/session',
      id: 'signInToConsole',
      summary: 'Sign in to the console',
      description: `Signs in as \`POST /api/auth/login\` does, with the same limits. The refresh token is set as the cookie \`__Host-wardkeep\`, which scripts cannot read, and is not part of the response. The previous session of the browser is ended. ${OWN_PAGES}`,
      records: ['auth.login', 'auth.login_failed', 'auth.session_ended', 'auth.logout'],
      body: Credentials,
      success: [200, ConsoleTokens],
      refusals: SIGN_IN_REFUSALS,
      example: {
        body: {
          email: 'nora.nurse@north.example',
          password: 'a-Fine-Secret-3',
          subdomain: 'north',
        },
      },
      handle: ({ body, host, origin, browserSession }) =>
        console.signIn(body, { host, origin, browser: browserSession() }),
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/console/session/refresh',
      id: 'refreshConsoleSession',
      summary: 'Continue a session of the console',
      description: `Returns a new access token for the session of the cookie \`__Host-wardkeep\`, and 204 without a cookie. The refresh token in the cookie is replaced once it is a minute old. A session that was idle for longer than the tenant's setting \`idle_minutes\` is rejected. ${OWN_PAGES}`,
      records: ['auth.token_refreshed', 'auth.refresh_reused'],
      body: NOTHING,
      success: [200, ConsoleTokens],
      mayBeEmpty: true,
      refusals: ['invalid_refresh_token'],
      example: { body: {} },
      handle: ({ origin, browserSession }) => console.refresh(browserSession(), origin),
    }),
    operation({
      ...common,
      method: 'DELETE',
      path: '/api/console/session',
      id: 'signOutOfConsole',
      summary: 'Sign out of the console',
      description: `Ends the session of the cookie \`__Host-wardkeep\` and clears the cookie. Without a cookie it does nothing. ${OWN_PAGES}`,
      records: ['auth.logout'],
      body: NOTHING,
      success: [204, null],
      example: { body: {} },
      handle: ({ origin, browserSession }) => console.signOut(browserSession(), origin),
    }),
    confirmOperation(confirmations),
    operation({
      method: 'GET',
      path: '/api/console/welcome',
      id: 'getConsoleWelcome',
      summary: 'Describe the sign-in page of the console',
      description:
        'Returns the tenant that the host names, the users of the demo tenant while it exists, and what users can do without signing in.',
      tag: 'Console',
      access: anyone,
      success: [200, Welcome],
      handle: ({ host }) => welcome(host),
    }),
  ]
}

function confirmOperation({ confirm }: Confirmations): AnyOperation {
  return operation({
    method: 'POST',
    path: '/api/console/session/confirm',
    id: 'confirmConsoleSession',
    summary: 'Confirm a session of the console',
    description: `Checks the password of the caller again, and the code of their second factor if they have one. For 5 minutes, the console session can then perform acts that otherwise get 403 \`reauth_required\`. Wrong passwords count as in \`PUT /api/users/me/password\`. A missing code gets 401 \`totp_required\` and does not end the session. Other sessions do not need a confirmation and get 409. ${OWN_PAGES}`,
    records: ['auth.session_confirmed'],
    tag: 'Console',
    access: signedIn,
    onlyFromOwnPages: true,
    body: ConfirmationRequest,
    success: [200, Confirmation],
    refusals: [
      'wrong_password',
      'wrong_code',
      'totp_required',
      'console_session_required',
      'overloaded',
    ],
    example: { body: { password: 'a-Fine-Secret-3' } },
    handle: ({ caller, body }) => confirm(caller, body),
  })
}
