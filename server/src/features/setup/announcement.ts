/** The texts that a start prints: the first superadmin as soon as there is one, then how to reach the service. */
import type { Bootstrapped } from './bootstrap.service.ts'
import { DEMO_ACCOUNTS, DEMO_PASSWORD } from './demo.service.ts'
import { DEMO_SUBDOMAIN } from './demo.store.ts'

/**
 * Returns who operates the platform.
 * @param file where a generated password was written, because the output is kept
 */
export function superadminLines(
  { email, password }: Bootstrapped,
  file: string | undefined,
): string {
  return [
    '',
    'The first superadmin, of tenant "platform":',
    `  ${email}`,
    passwordLine(password, file),
    '',
  ].join('\n')
}

function passwordLine(password: string | null, file: string | undefined): string {
  if (password === null) return '  password as configured'
  return file === undefined
    ? `  password ${password}   (shown this once; the first sign-in has to change it)`
    : `  password in ${file}   (the first sign-in has to change it; then delete the file)`
}

/** Returns the text that a start ends with: the console's address, who can sign in to the demo, and the API. */
export function announcement({ address, hasDemo }: { address: string; hasDemo: boolean }): string {
  const demo = [
    `Sign in to the demo clinic ("${DEMO_SUBDOMAIN}") as one of these people. Their password is ${DEMO_PASSWORD}.`,
    ...DEMO_ACCOUNTS.map(({ email, role }) => `  ${email.padEnd(26)}${role}`),
    '',
    'While the demo exists, webhooks may also be sent to this machine (http://127.0.0.1:PORT/).',
    '',
  ]
  return [
    '',
    `Open the console: ${address}/console`,
    '',
    ...(hasDemo ? demo : []),
    `Wardkeep is ready at ${address} (API documentation: ${address}/docs)`,
    '',
  ].join('\n')
}
