/** What a person sees of a start: the first superadmin as soon as there is one, then where the service is. */
import type { Bootstrapped } from './bootstrap.service.ts'
import { DEMO_ACCOUNTS, DEMO_PASSWORD } from './demo.service.ts'
import { DEMO_SUBDOMAIN } from './demo.store.ts'

/** Who operates the platform. */
export function superadminLines({ email, password }: Bootstrapped): string {
  return [
    '',
    'The first superadmin, of tenant "platform":',
    `  ${email}`,
    password
      ? `  password ${password}   (shown this once; the first sign-in has to change it)`
      : '  password as configured',
    '',
  ].join('\n')
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
