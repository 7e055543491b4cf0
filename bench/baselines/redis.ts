/** A connection to a cache server: the part of RESP2 that a simple command with one response needs. */
import { connect, type Socket } from 'node:net'

const LINE_END = Buffer.from('\r\n')

/** Opens a connection. Responses arrive in the order of the commands, including errors of the server. */
export function openRedis(port: number): (...words: (string | Buffer)[]) => Promise<Buffer | null> {
  const socket: Socket = connect({ host: '127.0.0.1', port, noDelay: true })
  const waiting: ((answer: Buffer | null) => void)[] = []
  let unread: Buffer = Buffer.alloc(0)
  socket.unref()
  socket.on('data', (chunk) => {
    unread = unread.length > 0 ? Buffer.concat([unread, chunk]) : chunk
    for (let end = unread.indexOf(LINE_END); end >= 0; end = unread.indexOf(LINE_END)) {
      const [first, size] = [unread[0], Number(unread.toString('latin1', 1, end))]
      const isText = first === 0x24 && size >= 0
      const after = end + 2 + (isText ? size + 2 : 0)
      if (unread.length < after) return
      waiting.shift()?.(isText ? unread.subarray(end + 2, after - 2) : null)
      unread = unread.subarray(after)
    }
  })
  return (...words) => {
    const sized = words.map((word) =>
      Buffer.concat([
        Buffer.from(`$${Buffer.byteLength(word)}\r\n`),
        Buffer.from(word as string),
        LINE_END,
      ]),
    )
    socket.write(Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...sized]))
    return new Promise((resolve) => waiting.push(resolve))
  }
}
