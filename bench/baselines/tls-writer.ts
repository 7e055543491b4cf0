/** The baseline of the SIEM export: writes the bytes of a file over one TLS connection, as fast as they are taken. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:tls'
import { answer } from './answer.ts'

interface Question {
  file: string
  port: number
  /** The file with the certificate to trust (PEM). */
  certificateFile: string
}

const PIECE = 65_536

answer(async ({ file, port, certificateFile }: Question) => {
  const [bytes, ca] = await Promise.all([readFile(file), readFile(certificateFile)])
  const socket = connect({ host: 'localhost', port, ca })
  await once(socket, 'secureConnect')
  for (let at = 0; at < bytes.length; at += PIECE)
    if (!socket.write(bytes.subarray(at, at + PIECE))) await once(socket, 'drain')
  socket.end()
  await once(socket.resume(), 'close')
  return bytes.length
})
