/** A fault of the environment that prevents startup, printed without a stack trace. The lines say what to do. */
export class StartupError extends Error {
  readonly lines: readonly string[]

  constructor(...lines: string[]) {
    super(lines.join('\n'))
    this.name = 'StartupError'
    this.lines = lines
  }
}
