/**
 * A syslog receiver in a process of its own. It writes each complete message durably before it takes the next data. If
 * it is killed, messages that it has received but not written are lost. Prints `ready <port>`.
 */
import { fdatasyncSync, openSync, writeSync } from 'node:fs'
import { createServer } from 'node:tls'

const [file = '', port = '0', cert = '', key = ''] = process.argv.slice(2)
const output = openSync(file, 'a')
// Ends a line that a killed process has not completed.
writeSync(output, '\n')

const server = createServer({ cert, key, minVersion: 'TLSv1.2' }, (socket) => {
  let rest = ''
  socket.setEncoding('latin1')
  socket.on('error', () => undefined)
  socket.on('data', (data: string) => {
    rest += data
    for (let frame = frameIn(rest); frame; frame = frameIn(rest)) {
      writeSync(output, `${frame.message}\n`)
      rest = rest.slice(frame.end)
    }
    fdatasyncSync(output)
  })
})
server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address() as { port: number }
  process.stdout.write(`ready ${address.port}\n`)
})

function frameIn(text: string): { message: string; end: number } | undefined {
  const [start = ''] = /^\d+ /.exec(text) ?? []
  if (start === '') return undefined
  const end = start.length + Number(start)
  return text.length < end ? undefined : { message: text.slice(start.length, end), end }
}
