/** What a person sees when the service has started: where it is, and who can sign in with what. */
import type { Bootstrapped } from './bootstrap.service.ts'
import { DEMO_ACCOUNTS, DEMO_PASSWORD, DEMO_SUBDOMAIN } from './demo.service.ts'

export function announcement(started: {
  address: string
  made: Bootstrapped | null
  hasDemo: boolean
}): string {
  const { address, made, hasDemo } = started
  const lines = ['', `Wardkeep is ready at ${address}  (its operations: ${address}/docs)`, '']
  if (made)
    lines.push(
      'The first superadmin, of tenant "platform":',
      `  ${made.email}`,
      made.password
        ? `  password ${made.password}   (shown this once; the first sign-in has to change it)`
        : '  password as configured',
      '',
    )
  if (hasDemo) {
    lines.push(`The demo clinic, tenant "${DEMO_SUBDOMAIN}", password for all: ${DEMO_PASSWORD}`)
    for (const { email, role } of DEMO_ACCOUNTS) lines.push(`  ${email.padEnd(26)}${role}`)
    lines.push('')
  }
  return lines.join('\n')
}
