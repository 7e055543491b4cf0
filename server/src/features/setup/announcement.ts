/** The texts printed at startup: the first superadmin's sign-in data, if just created, and the service's addresses. */
import type { Bootstrapped } from './bootstrap.service.ts'
import { DEMO_ACCOUNTS, DEMO_PASSWORD } from './demo.service.ts'
import { DEMO_SUBDOMAIN } from './demo.store.ts'

/**
 * Returns the lines with the first superadmin's sign-in data.
 * @param file the file that contains the generated password; undefined to print the password itself
 */
export function superadminLines(
  { email, password }: Bootstrapped,
  file: string | undefined,
): string {
  return [
    '',
    'Sign-in of the first superadmin, in tenant "platform":',
    `  ${email}`,
    passwordLine(password, file),
    '',
  ].join('\n')
}

function passwordLine(password: string | null, file: string | undefined): string {
  if (password === null) return '  password from BOOTSTRAP_ADMIN_PASSWORD'
  return file === undefined
    ? `  password ${password}   (shown only once; you have to change it at the first sign-in)`
    : `  password in ${file}   (you have to change it at the first sign-in; then delete the file)`
}

/** Returns the text printed at the end of startup: the addresses of the console and the API, and the demo accounts. */
export function announcement({ address, hasDemo }: { address: string; hasDemo: boolean }): string {
  const demo = [
    `Sign in to the demo clinic ("${DEMO_SUBDOMAIN}") as one of these people. Their password is ${DEMO_PASSWORD}.`,
    ...DEMO_ACCOUNTS.map(({ email, role }) => `  ${email.padEnd(26)}${role}`),
    '',
    'While the demo clinic exists, webhooks may also target this machine (http://127.0.0.1:PORT/).',
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
