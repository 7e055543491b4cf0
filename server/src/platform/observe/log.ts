/** The log: one JSON line an event, or a line to read where it goes to a terminal, without a secret or a patient datum. */
import { isatty } from 'node:tty'
import pino, { type Logger as PinoLogger } from 'pino'
import { openLines } from './lines.ts'

/** Formats a JSON line for people. Loaded only where there is a terminal. */
const readable =
  isatty(1) || isatty(2)
    ? (await import('pino-pretty')).prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss' })
    : undefined

export type Logger = Pick<PinoLogger, 'info' | 'warn' | 'error' | 'debug'>

/** Field names whose values never reach the log, whoever logs them. */
const SECRET_FIELDS = new Set([
  'password',
  'token',
  'access_token',
  'refresh_token',
  'secret',
  'authorization',
])

/** Keeps secrets out of a line. By hand, as pino's own redaction costs more than the line itself. */
function withoutSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  for (const name in fields) if (SECRET_FIELDS.has(name)) return hidden(fields)
  return fields
}

function hidden(fields: Record<string, unknown>): Record<string, unknown> {
  const shown = Object.entries(fields).map(([name, value]) => [
    name,
    SECRET_FIELDS.has(name) ? '[secret]' : value,
  ])
  return Object.fromEntries(shown)
}

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

/**
 * Opens the log. Lines are gathered briefly, and flushed when the process ends.
 * @param to standard output, or standard error (2) where the output is what a command was asked for
 */
export function openLog(level: string, to: 1 | 2 = 1): PinoLogger {
  const lines = openLines(to)
  process.once('exit', lines.end)
  const format = isatty(to) ? readable : undefined
  const output = format ? { write: (line: string) => lines.write(format(line)) } : lines
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: withoutSecrets },
      serializers: { err: describeError },
    },
    output,
  )
}
