/** The times of a five-field cron expression, in UTC. */
import { CronExpressionParser } from 'cron-parser'

export interface Cron {
  readonly text: string
  /** Returns the first time after the instant. Both are milliseconds since the Unix epoch. */
  after(at: number): number
  before(at: number): number
}

/** @throws Error that explains what is wrong with the expression */
export function parseCron(text: string): Cron {
  if (text.trim().split(/\s+/).length !== 5)
    throw new Error('must be a cron expression of five fields, such as `30 2 * * *`')
  const from = (at: number) =>
    CronExpressionParser.parse(text, { tz: 'UTC', currentDate: new Date(at) })
  try {
    from(0).next()
  } catch (error) {
    throw new Error(
      `must be a cron expression such as \`30 2 * * *\` (${(error as Error).message})`,
    )
  }
  return {
    text: text.trim(),
    after: (at) => from(at).next().getTime(),
    before: (at) => from(at).prev().getTime(),
  }
}
