/**
 * A fault of the environment (configuration, data folder, database) that prevents startup. The lines say what is wrong
 * and what the operator can do. They are printed without a stack trace.
 */
export class StartupError extends Error {
  readonly lines: readonly string[]

  constructor(...lines: string[]) {
    super(lines.join('\n'))
    this.name = 'StartupError'
    this.lines = lines
  }
}
