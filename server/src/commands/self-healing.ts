/** `wardkeep self-healing`: its commands as they are typed; what they do is loaded when one is. */
import type { Command } from 'commander'

export function addSelfHealingCommands(selfHealing: Command): void {
  selfHealing
    .command('scan')
    .description('look for faults now; ends with 1 where something waits for people')
    .option('--json', 'print what was found as JSON')
    .action(async (options) => (await import('./self-healing-work.ts')).scan(options))
}
