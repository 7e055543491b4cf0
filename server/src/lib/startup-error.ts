/**
 * A fault of the surroundings (configuration, data folder, database) that stops the start.
 * Its lines are written for the operator: each says what is wrong and what to do, and is
 * printed as it is, without a stack.
 */
export class StartupError extends Error {
  readonly lines: readonly string[]

  constructor(...lines: string[]) {
    super(lines.join('\n'))
    this.name = 'StartupError'
    this.lines = lines
  }
}
