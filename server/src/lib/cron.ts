/** Times that a cron expression of five fields names, in UTC. */
import { CronExpressionParser } from 'cron-parser'

export interface Cron {
  readonly text: string
  /** The first of its times behind the instant; both in milliseconds since the Unix epoch. */
  after(at: number): number
  /** The last of its times before the instant. */
  before(at: number): number
}

/** @throws Error that says what is wrong with it */
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
