/**
 * An environment fault (configuration, data folder, database) that prevents startup. The lines tell the operator what
 * is wrong and what to do. They are printed without a stack trace.
 */
export class StartupError extends Error {
  readonly lines: readonly string[]

  constructor(...lines: string[]) {
    super(lines.join('\n'))
    this.name = 'StartupError'
    this.lines = lines
  }
}
