/** `wardkeep keys`: its commands as they are typed; what they do is loaded when one is. */
import type { Command } from 'commander'

export function addKeysCommands(keys: Command): void {
  keys
    .command('rotate-root')
    .description('put another root key in the place of the current one, while no service runs')
    .action(async () => (await import('./keys-work.ts')).rotateRootKey())
  keys
    .command('abandon [fingerprint]')
    .description('delete what a lost root key sealed, patients among it, while no service runs')
    .action(async (lost?: string) => (await import('./keys-work.ts')).abandon(lost))
  keys
    .command('verify')
    .description('open everything that is sealed, and name what does not open')
    .action(async () => (await import('./keys-work.ts')).verify())
}
