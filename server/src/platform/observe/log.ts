/** The log: one JSON line per event, or readable text on a terminal. Contains neither secrets nor patient data. */
import { isatty } from 'node:tty'
import pino, { type Logger as PinoLogger } from 'pino'
import { openLines } from './lines.ts'

/** Formats a JSON line as text for people. Used only if the output is a terminal. */
const readable =
  isatty(1) || isatty(2)
    ? (await import('pino-pretty')).prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss' })
    : undefined

export type Logger = Pick<PinoLogger, 'info' | 'warn' | 'error' | 'debug'>

/** Names of fields whose values are never logged. */
const SECRET_FIELDS = new Set([
  'password',
  'token',
  'access_token',
  'refresh_token',
  'secret',
  'authorization',
])

/** Masks secrets in the fields of a line. Replaces pino's redaction, which costs more than writing the line. */
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

/** Returns the fields of an error for the log. Omits the driver's `detail`, because it quotes values of the row. */
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
 * Opens the log. Buffers lines briefly and flushes them when the process ends.
 * @param to 1 for standard output, or 2 for standard error if standard output carries a command's result
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
