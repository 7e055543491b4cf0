/** Builds records of the Common Event Format (CEF, version 0) from journal entries. */
import { isIPv4 } from 'node:net'
import type { NumberedEntry } from '../../../platform/journal/index.ts'
import { asciiOf } from './ascii.ts'
import { mappingOf, type Severity } from './mapping.ts'
import { meaningOf } from './ocsf.ts'

const VENDOR = 'Wardkeep'

/** The severities of CEF, from 0 to 10. */
const CEF_SEVERITIES: Record<Severity, number> = { 1: 2, 2: 4, 3: 6, 4: 8 }

/** Escapes a field of the header: the separator, and the escape character itself. */
const headerField = (text: string): string => asciiOf(text).replaceAll(/[\\|]/g, '\\$&')

const LINE_BREAKS: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r' }

/**
 * Escapes a value of the extension: `=`, the escape character and line breaks. All other characters outside of printable
 * ASCII are `\u` escapes, whose backslash is escaped too, because CEF knows no such escapes itself.
 */
const extensionValue = (value: unknown): string =>
  String(value).replaceAll(
    /[^\x20-\x3c\x3e-\x5b\x5d-\x7e]/g,
    (found) => LINE_BREAKS[found] ?? (/[\\=]/.test(found) ? `\\${found}` : `\\${asciiOf(found)}`),
  )

/** @param version the version of this service. @param isTruncated true if parts of the entry were left out */
export function cefRecord(entry: NumberedEntry, version: string, isTruncated = false): string {
  const { severity } = mappingOf(entry.action)
  const header = [
    'CEF:0',
    VENDOR,
    VENDOR,
    headerField(version),
    headerField(entry.action),
    headerField(meaningOf(entry.action)),
    CEF_SEVERITIES[severity],
  ]
  const extension = Object.entries(extensionOf(entry, isTruncated))
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${extensionValue(value)}`)
  return `${header.join('|')}|${extension.join(' ')}`
}

function extensionOf(entry: NumberedEntry, isTruncated: boolean): Record<string, unknown> {
  const { ip, changes, tenant_id, resource_id, request_id, resource_type } = entry
  return {
    rt: Date.parse(entry.created_at),
    externalId: entry.id,
    act: entry.action,
    outcome: mappingOf(entry.action).isFailure ? 'failure' : 'success',
    ...(ip === null ? {} : isIPv4(ip) ? { src: ip } : labelled('c6a2', 'Source IPv6 Address', ip)),
    suid: entry.user_id,
    suser: entry.user_email,
    requestClientApplication: entry.user_agent,
    ...labelled('cs1', 'changes', changes === null ? null : JSON.stringify(changes)),
    ...labelled('cs2', 'tenant_uid', tenant_id),
    ...labelled('cs3', 'resource_type', resource_type),
    ...labelled('cs4', 'resource_id', resource_id),
    ...labelled('cs5', 'request_id', request_id),
    ...labelled('cs6', 'is_truncated', isTruncated ? true : null),
    ...labelled('cn1', 'sequence', entry.sequence),
  }
}

/** Returns a custom field with its label, or nothing if the field has no value. */
const labelled = (name: string, label: string, value: unknown): Record<string, unknown> =>
  value === null ? {} : { [`${name}Label`]: label, [name]: value }
