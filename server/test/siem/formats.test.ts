/** The formats of exported entries: OCSF against the published requirements, CEF, and syslog messages. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bodies } from '../../src/features/siem/formats/bodies.ts'
import { CLASSES, MAPPINGS, mappingOf } from '../../src/features/siem/formats/mapping.ts'
import { MAX_MESSAGE, syslogFormatter } from '../../src/features/siem/formats/syslog-message.ts'
import { ACTIONS, type Action, type NumberedEntry } from '../../src/platform/journal/index.ts'
import { ENTRY, entriesOf } from '../support/journal-entries.ts'
import { faultsOf } from './ocsf-schema.ts'
import { messagesIn, parseCef, parseSyslog } from './parsers.ts'

const { ocsf, cef } = bodies('1.2.3')
const ALL = Object.keys(ACTIONS) as Action[]
const LIMIT = 1024 * 1024
const event = (entry: NumberedEntry, limit = LIMIT) => JSON.parse(ocsf(entry, limit))
const source = { hostname: 'care.example', version: '1.2.3', pid: 4711 }

const HOSTILE = [
  'line\nbreak\r\n<110>1 2026-11-21T12:00:00Z forged wardkeep - auth.login - {}',
  'quote " bracket ] backslash \\',
  'nul \u0000 escape \u001b[31m delete \u007f',
  'dot\u2028separators\u2029 and \u0085',
  'é ß 漢字 😀 \ud800 lone',
  'pipe | equals = src=10.0.0.1 cs1=forged',
  '\\n \\u0041 \\\\',
]
const hostile = (text: string): NumberedEntry => ({
  ...ENTRY,
  user_email: text,
  user_agent: text,
  resource_id: text,
  changes: { after: { full_name: text, [text]: text } },
})

test('every action has a mapping, and each mapped action exists', () => {
  expect(Object.keys(MAPPINGS).sort()).toEqual([...ALL].sort())
})

test('each mapping names an activity', () => {
  const nameless = ALL.filter((action) => mappingOf(action).activityName === '')
  expect(nameless).toEqual([])
})

describe('the OCSF event of', () => {
  test.each(ALL)('%s meets the requirements of its class', (action) => {
    for (const entry of entriesOf(action)) expect(faultsOf(event(entry))).toEqual([])
  })

  test('an unknown action of a newer release meets the requirements', () => {
    const unknown = event({ ...ENTRY, action: 'ward.opened', resource_type: 'ward' })
    expect(faultsOf(unknown)).toEqual([])
    expect(unknown).toMatchObject({ class_uid: 3004, activity_id: 99, message: 'ward.opened' })
  })

  test('a blocked user says who blocked whom, from where, and when', () => {
    expect(event(ENTRY)).toEqual({
      activity_id: 5,
      activity_name: 'Disable',
      category_uid: 3,
      class_uid: 3001,
      class_name: 'Account Change',
      type_uid: 300105,
      severity_id: 2,
      severity: 'Low',
      status_id: 1,
      status: 'Success',
      time: Date.parse(ENTRY.created_at),
      message: 'A user was blocked and signed out',
      metadata: {
        version: '1.8.0',
        uid: '812',
        sequence: 40,
        event_code: 'user.blocked',
        log_name: 'audit',
        tenant_uid: '3',
        correlation_uid: ENTRY.request_id,
        product: { name: 'Wardkeep', vendor_name: 'Wardkeep', version: '1.2.3' },
      },
      actor: { user: { uid: '41', name: 'anna@north.example', email_addr: 'anna@north.example' } },
      src_endpoint: { ip: '192.0.2.7' },
      http_request: { user_agent: 'Firefox/140' },
      user: { uid: '57' },
      unmapped: { resource_type: 'user', resource_id: '57', changes: ENTRY.changes },
    })
  })

  test('a failed sign-in names the entered address, and is a failure', () => {
    const failed = event({
      ...ENTRY,
      action: 'auth.login_failed',
      user_id: null,
      resource_id: null,
      changes: { reason: 'invalid_credentials' },
    })
    expect(failed).toMatchObject({
      type_uid: 300201,
      status: 'Failure',
      status_detail: 'invalid_credentials',
      user: { email_addr: 'anna@north.example' },
    })
  })

  test('refused calls counts them, with their period', () => {
    const [refused] = entriesOf('access.refused')
    expect(event({ ...(refused as NumberedEntry), resource_id: 'listUsers' })).toMatchObject({
      class_uid: 6003,
      status: 'Failure',
      status_code: 'role_required',
      count: 3,
      start_time: Date.parse('2026-11-21T11:59:00.000Z'),
      end_time: Date.parse('2026-11-21T11:59:30.000Z'),
      api: { operation: 'listUsers' },
    })
  })

  test('a list of patients names each patient', () => {
    const [listed] = entriesOf('patient.listed')
    expect(event({ ...(listed as NumberedEntry), resource_id: null }).resources).toEqual([
      { type: 'patient', uid: '9001' },
      { type: 'patient', uid: '9002' },
    ])
  })
})

test('the schema of the tests rejects events without a required attribute, and unknown attributes', () => {
  const { user, ...without } = event(ENTRY)
  expect(user).toBeDefined()
  expect(faultsOf(without)).not.toEqual([])
  expect(faultsOf({ ...event(ENTRY), colour: 'red' })).not.toEqual([])
  expect(faultsOf({ ...event(ENTRY), type_uid: 300199 + 1 })).not.toEqual([])
})

describe.each(['ocsf', 'cef'] as const)('a body in the format %s', (format) => {
  const bodyOf = bodies('1.2.3')[format]

  test.each(HOSTILE)('keeps %j on one line of printable ASCII', (text) => {
    expect(bodyOf(hostile(text), LIMIT)).toMatch(/^[\x20-\x7e]+$/)
  })

  test('fits into a message with texts of any length', () => {
    for (const length of [100, 2_000, 20_000])
      for (const letter of ['a', '"', '\u0000', '漢', '😀']) {
        const entry = hostile(letter.repeat(length))
        expect(bodyOf(entry, 7_000).length).toBeLessThanOrEqual(7_000)
      }
  })

  test('fits into a message with random texts', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 600 }),
        fc.jsonValue(),
        (text, changes) => {
          const body = bodyOf({ ...hostile(text), changes }, 7_000)
          expect(body.length).toBeLessThanOrEqual(7_000)
          expect(body).toMatch(/^[\x20-\x7e]+$/)
        },
      ),
    )
  })
})

describe('an entry that does not fit', () => {
  const long = { ...ENTRY, changes: { after: { note: 'x'.repeat(20_000) } } }

  test('loses its changes first, and says so', () => {
    const cut = event(long, MAX_MESSAGE)
    expect(cut.unmapped).toEqual({ resource_type: 'user', resource_id: '57' })
    expect(cut.metadata).toMatchObject({ is_truncated: true, untruncated_size: 21, uid: '812' })
    expect(cut.actor).toEqual(event(ENTRY).actor)
    expect(faultsOf(cut)).toEqual([])
    expect(event(ENTRY, MAX_MESSAGE).metadata).not.toHaveProperty('is_truncated')
  })

  test('loses the ends of its other texts only if it is still too long', () => {
    const cut = event({ ...long, user_agent: 'y'.repeat(9_000) }, MAX_MESSAGE)
    expect(cut.http_request.user_agent).toBe('y'.repeat(256))
    expect(faultsOf(cut)).toEqual([])
  })

  test('loses its changes in CEF, and says so', () => {
    const { extension } = parseCef(cef(long, MAX_MESSAGE))
    expect(extension).toMatchObject({ cs6Label: 'is_truncated', cs6: 'true', externalId: '812' })
    expect(extension).not.toHaveProperty('cs1')
  })
})

describe('a CEF record', () => {
  test('has the fields of the entry', () => {
    const { header, extension } = parseCef(cef(ENTRY, LIMIT))
    expect(header).toEqual([
      'CEF:0',
      'Wardkeep',
      'Wardkeep',
      '1.2.3',
      'user.blocked',
      'A user was blocked and signed out',
      '4',
    ])
    expect(extension).toEqual({
      rt: String(Date.parse(ENTRY.created_at)),
      externalId: '812',
      act: 'user.blocked',
      outcome: 'success',
      src: '192.0.2.7',
      suid: '41',
      suser: 'anna@north.example',
      requestClientApplication: 'Firefox/140',
      cs1Label: 'changes',
      cs1: JSON.stringify(ENTRY.changes),
      cs2Label: 'tenant_uid',
      cs2: '3',
      cs3Label: 'resource_type',
      cs3: 'user',
      cs4Label: 'resource_id',
      cs4: '57',
      cs5Label: 'request_id',
      cs5: ENTRY.request_id,
      cn1Label: 'sequence',
      cn1: '40',
    })
  })

  test('has an IPv6 address in its own field', () => {
    expect(parseCef(cef({ ...ENTRY, ip: '2001:db8::1' }, LIMIT)).extension).toMatchObject({
      c6a2Label: 'Source IPv6 Address',
      c6a2: '2001:db8::1',
    })
  })

  test.each(HOSTILE)('cannot be extended by %j', (text) => {
    const whole = parseCef(cef(hostile(text), LIMIT)).extension
    expect(Object.keys(whole).sort()).toEqual(
      Object.keys(parseCef(cef(ENTRY, LIMIT)).extension).sort(),
    )
    expect(whole.src).toBe('192.0.2.7')
  })

  test('returns line breaks, equals signs and backslashes unchanged', () => {
    const text = 'a\nb\rc=d\\e|f'
    const { extension } = parseCef(cef({ ...ENTRY, user_agent: text }, LIMIT))
    expect(extension.requestClientApplication).toBe(text)
  })
})

describe('a syslog message', () => {
  const frame = (entry: NumberedEntry) => syslogFormatter(source, ocsf)(entry)
  const parsed = (entry: NumberedEntry) => parseSyslog(messagesIn(frame(entry))[0] ?? '')

  test('has facility 13, the action as its MSGID, and the registered structured data only', () => {
    const { body, ...header } = parsed(ENTRY)
    expect(header).toEqual({
      facility: 13,
      severity: 5,
      timestamp: ENTRY.created_at,
      hostname: 'care.example',
      appName: 'wardkeep',
      procId: '4711',
      msgId: 'user.blocked',
      data: { origin: { software: 'Wardkeep', swVersion: '1.2.3' }, meta: { sequenceId: '1' } },
    })
    expect(JSON.parse(body)).toEqual(event(ENTRY))
  })

  test.each(ALL)('about %s has the whole action as its MSGID', (action) => {
    for (const entry of entriesOf(action)) expect(parsed(entry).msgId).toBe(action)
  })

  test.each(HOSTILE)('with %j is one message', (text) => {
    const messages = messagesIn(frame(hostile(text)) + frame(ENTRY))
    expect(messages).toHaveLength(2)
    expect(parseSyslog(messages[0] ?? '')).toMatchObject({ msgId: 'user.blocked' })
  })

  test('whose source and action contain hostile text has a valid header', () => {
    const strange = { hostname: 'a b\n\u00e9', version: '1"]\\ \n', pid: 1 }
    const text = syslogFormatter(strange, ocsf)({ ...ENTRY, action: 'a b\n<1>.é' })
    const message = parseSyslog(messagesIn(text)[0] ?? '')
    expect(message).toMatchObject({ hostname: 'ab', msgId: 'ab<1>.' })
    expect(message.data.origin).toEqual({ software: 'Wardkeep', swVersion: '1"]\\ ' })
  })

  test('has at most 8,192 bytes', () => {
    for (const length of [7_000, 7_300, 7_400, 7_500, 20_000, 1_000_000]) {
      const entry = { ...ENTRY, changes: { after: 'x'.repeat(length) } }
      const [message = ''] = messagesIn(frame(entry))
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(MAX_MESSAGE)
    }
  })

  test('has a sequence number that grows by one', () => {
    const format = syslogFormatter(source, ocsf)
    const ids = [1, 2, 3].map(
      () => parseSyslog(messagesIn(format(ENTRY))[0] ?? '').data.meta?.sequenceId,
    )
    expect(ids).toEqual(['1', '2', '3'])
  })
})

test('the classes have the identifiers of the schema', () => {
  expect(Object.values(CLASSES).map(({ uid }) => uid)).toEqual([3001, 3002, 3004, 6003])
})
