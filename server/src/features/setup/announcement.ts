/** What a person sees of a start: the first superadmin as soon as there is one, then where the service is. */
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

/** Where the service is, and who can sign in to the demo. */
export function announcement({ address, hasDemo }: { address: string; hasDemo: boolean }): string {
  const lines = ['', `Wardkeep is ready at ${address}  (its operations: ${address}/docs)`, '']
  if (hasDemo) {
    lines.push(`The demo clinic, tenant "${DEMO_SUBDOMAIN}", password for all: ${DEMO_PASSWORD}`)
    for (const { email, role } of DEMO_ACCOUNTS) lines.push(`  ${email.padEnd(26)}${role}`)
    lines.push(
      '',
      'While there is a demo, webhooks may also go to this machine, as http://127.0.0.1:PORT/.',
      '',
    )
  }
  return lines.join('\n')
}
