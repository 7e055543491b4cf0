/** Writes the table of commands for the reference of the command line. */
import { openProgram } from '../../server/src/commands/program.ts'
import { tableOf } from './sections.ts'

type Command = ReturnType<typeof openProgram>

/** Returns a table of all commands, with their options. */
export function commandTable(): string {
  return tableOf(['Command', 'What it does', 'Options'], rowsOf(openProgram(), []))
}

function rowsOf(command: Command, path: readonly string[]): string[][] {
  const names = [...path, command.name()]
  if (command.commands.length > 0) return command.commands.flatMap((child) => rowsOf(child, names))
  const taken = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  )
  const options = command.options.map(({ flags, description }) => `\`${flags}\`: ${description}`)
  return [[`\`${[...names, ...taken].join(' ')}\``, command.description(), options.join('<br>')]]
}
