/** The log: one JSON line an event, written for machines, without a secret or a patient datum. */
import pino, { type Logger as PinoLogger } from 'pino'

export type Logger = Pick<PinoLogger, 'info' | 'warn' | 'error' | 'debug'>

/** Field names that never reach the log, wherever in a logged object they stand. */
const SECRET_FIELDS = [
  'password',
  'token',
  'access_token',
  'refresh_token',
  'secret',
  'authorization',
]

/** What the log says of an error. The driver's `detail` is left out: it quotes the row's values. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause } = error
  const { code, constraint } = error as Error & { code?: string; constraint?: string }
  return {
    name,
    message,
    code,
    constraint,
    stack,
    ...(cause ? { cause: describeError(cause) } : {}),
  }
}

/** Opens the log on standard output. Lines are gathered briefly, and flushed when the process ends. */
export function openLog(level: string): PinoLogger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' },
    },
    pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 200 }),
  )
}
