/** Syslog messages (RFC 5424) with octet counting (RFC 6587, 3.4.1, and RFC 5425, 4.3). */
import type { NumberedEntry } from '../../../platform/journal/index.ts'
import type { BodyOf } from './bodies.ts'
import { mappingOf, type Severity } from './mapping.ts'

/** Maximum size of a message in bytes. Many receivers cut or split longer ones. */
export const MAX_MESSAGE = 8192

/** The facility "log audit" (RFC 5424, 6.2.1). */
const FACILITY = 13
/** The severities of syslog: informational, notice, warning and error. */
const SYSLOG_SEVERITIES: Record<Severity, number> = { 1: 6, 2: 5, 3: 4, 4: 3 }
const MAX_HOSTNAME = 255
const MAX_MSGID = 32
/** The sequence number starts again with 1 after this value (RFC 5424, 7.3.1). */
const MAX_SEQUENCE_ID = 2_147_483_647

export interface SyslogSource {
  hostname: string
  /** The version of this service. */
  version: string
  pid: number
}

/** Returns a function that formats messages, with a sequence number that starts with 1. */
export function syslogFormatter(source: SyslogSource, bodyOf: BodyOf) {
  const hostname = headerText(source.hostname, MAX_HOSTNAME)
  const procId = headerText(String(source.pid), 128)
  const origin = `[origin software="Wardkeep" swVersion="${paramValue(source.version)}"]`
  let sequenceId = 0

  /** Returns the message of an entry, with its length before it. */
  return (entry: NumberedEntry): string => {
    sequenceId = (sequenceId % MAX_SEQUENCE_ID) + 1
    const { action, created_at } = entry
    const priority = FACILITY * 8 + SYSLOG_SEVERITIES[mappingOf(action).severity]
    const header = `<${priority}>1 ${created_at} ${hostname} wardkeep ${procId} ${headerText(action, MAX_MSGID)}`
    const start = `${header} ${origin}[meta sequenceId="${sequenceId}"] `
    const message = start + bodyOf(entry, MAX_MESSAGE - start.length)
    return `${message.length} ${message}`
  }
}

/** Returns a header field: printable ASCII without blanks, or `-` if nothing is left (RFC 5424, 6). */
const headerText = (text: string, length: number): string =>
  text.replaceAll(/[^\x21-\x7e]/g, '').slice(0, length) || '-'

/** Escapes the value of a parameter of structured data (RFC 5424, 6.3.3). */
const paramValue = (text: string): string =>
  text.replaceAll(/[^\x20-\x7e]/g, '').replaceAll(/["\\\]]/g, '\\$&')
