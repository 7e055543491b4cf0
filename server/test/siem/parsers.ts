/** Parsers of the exported formats, written from the standards and independent of the formatters. */

/** Splits a stream with octet counting into its messages (RFC 6587, 3.4.1). @throws Error if a frame is malformed */
export function messagesIn(stream: string): string[] {
  const messages: string[] = []
  for (let at = 0; at < stream.length; ) {
    const [, length = ''] = /^([1-9]\d*) /.exec(stream.slice(at, at + 12)) ?? []
    if (length === '') throw new Error(`no frame at ${at}`)
    const from = at + length.length + 1
    const to = from + Number(length)
    if (to > stream.length) throw new Error('the last frame is incomplete')
    messages.push(stream.slice(from, to))
    at = to
  }
  return messages
}

export interface ParsedSyslog {
  facility: number
  severity: number
  timestamp: string
  hostname: string
  appName: string
  procId: string
  msgId: string
  data: Record<string, Record<string, string>>
  body: string
}

/** Parses one message (RFC 5424, 6). @throws Error if it is malformed */
export function parseSyslog(message: string): ParsedSyslog {
  const header =
    /^<(\d{1,3})>1 (\S+) ([\x21-\x7e]{1,255}) ([\x21-\x7e]{1,48}) ([\x21-\x7e]{1,128}) ([\x21-\x7e]{1,32}) /
  const [
    start = '',
    priority,
    timestamp = '',
    hostname = '',
    appName = '',
    procId = '',
    msgId = '',
  ] = header.exec(message) ?? []
  if (start === '') throw new Error(`malformed header: ${message.slice(0, 100)}`)
  const elements = /^((?:\[(?:[^\]\\"]|"(?:[^"\\\]]|\\["\\\]])*")*\])+) /.exec(
    message.slice(start.length),
  )
  if (!elements) throw new Error(`malformed structured data: ${message.slice(start.length, 200)}`)
  const [whole, all = ''] = elements
  const data: ParsedSyslog['data'] = {}
  for (const [, id = '', params = ''] of all.matchAll(
    /\[(\S+)((?: [^\s=]+="(?:[^"\\\]]|\\["\\\]])*")*)\]/g,
  ))
    data[id] = Object.fromEntries(
      [...params.matchAll(/ ([^\s=]+)="((?:[^"\\\]]|\\["\\\]])*)"/g)].map(
        ([, name, value = '']) => [name, value.replaceAll(/\\(["\\\]])/g, '$1')],
      ),
    )
  return {
    facility: Number(priority) >> 3,
    severity: Number(priority) & 7,
    timestamp,
    hostname,
    appName,
    procId,
    msgId,
    data,
    body: message.slice(start.length + whole.length),
  }
}

/** Parses a CEF record: the header by unescaped pipes, the extension by keys before unescaped equals signs. */
export function parseCef(record: string): { header: string[]; extension: Record<string, string> } {
  const parts = record.match(/(?:[^|\\]|\\.)*(?:\||$)/g) ?? []
  const header = parts
    .slice(0, 7)
    .map((part) => part.replace(/\|$/, '').replaceAll(/\\([\\|])/g, '$1'))
  const rest = parts.slice(7).join('')
  const starts = [...rest.matchAll(/(?:^| )([A-Za-z0-9]+)=/g)]
  const extension = Object.fromEntries(
    starts.map((start, at) => {
      const from = start.index + start[0].length
      const value = rest.slice(from, starts[at + 1]?.index ?? rest.length)
      return [start[1], value.replaceAll(/\\(.)/g, (_, letter) => UNESCAPED[letter] ?? letter)]
    }),
  )
  return { header, extension }
}

const UNESCAPED: Record<string, string> = { n: '\n', r: '\r' }
