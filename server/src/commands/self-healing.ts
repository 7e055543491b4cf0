/** `wardkeep self-healing`: its commands as they are typed; what they do is loaded when one is. */
import type { Command } from 'commander'

export function addSelfHealingCommands(selfHealing: Command): void {
  selfHealing
    .command('confirm <key>')
    .description('repair a fault that was found and waits for people')
    .action(async (key: string) => (await import('./self-healing-work.ts')).confirm(key))
  selfHealing
    .command('scan')
    .description('look for faults now; ends with 1 where something waits for people')
    .option('--json', 'print what was found as JSON')
    .action(async (options) => (await import('./self-healing-work.ts')).scan(options))
}
