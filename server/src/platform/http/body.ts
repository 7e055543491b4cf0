/** Reads request bodies: JSON in UTF-8, or raw bytes where an operation accepts them. */

import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import secureJson from 'secure-json-parse'
import { InvalidInput, Problem } from '../../lib/problems.ts'
import { utf8Text } from '../../lib/text.ts'
import { oneATurn } from './event-loop-turns.ts'

/** Body size in bytes from which parsing takes long. Only one such body is parsed per turn of the event loop. */
const LONG_BODY = 4 * 1024

const JSON_TYPE = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i

export function jsonInvalid(msg: string): InvalidInput {
  return new InvalidInput([
    { loc: ['body'], msg: `JSON decode error: ${msg}`, type: 'json_invalid' },
  ])
}

function parse(request: FastifyRequest, bytes: Buffer): unknown {
  // Operations without a body ignore any body that is sent, so it is not parsed.
  if (!request.routeOptions.config.takesBody || bytes.length === 0) return undefined
  if (!JSON_TYPE.test(request.headers['content-type'] ?? ''))
    throw jsonInvalid('send the body as application/json')
  const text = utf8Text(bytes)
  if (text === undefined) throw jsonInvalid('the body is not UTF-8')
  try {
    // Keys that would change an object's prototype are removed, like any unknown field.
    return secureJson.parse(text, {
      protoAction: 'remove',
      constructorAction: 'remove',
    })
  } catch (error) {
    // Cuts the message at its first quote. The parser quotes the body after it, which may contain a secret.
    const said = (error as Error).message.split('"')[0]?.replace(/[\s,.]+$/, '')
    throw jsonInvalid(said || 'the body is not valid JSON')
  }
}

/** Returns true if the request body is compressed or otherwise encoded (RFC 9110 §8.4). */
function isEncoded({ headers }: FastifyRequest): boolean {
  const encodings = headers['content-encoding']?.split(',') ?? []
  return encodings.some((one) => !['', 'identity'].includes(one.trim().toLowerCase()))
}

/** The number of chunks that any body may have. Beyond that, an average chunk must have at least this many bytes. */
const FREE_PIECES = 64
const BYTES_PER_PIECE = 256

/**
 * Rejects a body in many small chunks, which cost hundreds of bytes each: 16 KiB in single bytes would block for 40 ms.
 */
function countPieces(payload: Readable): void {
  let pieces = 0
  let bytes = 0
  payload.on('data', function count(piece: Buffer) {
    pieces += 1
    bytes += piece.length
    if (pieces <= FREE_PIECES + bytes / BYTES_PER_PIECE) return
    payload.off('data', count)
    // The body parser sends this error as the response and closes the connection.
    payload.emit('error', Object.assign(new Problem('body_in_pieces'), { statusCode: 400 }))
  })
}

/** Replaces Fastify's own body parsers with one that handles every content type. */
export function readJsonBodies(app: FastifyInstance): void {
  const inATurn = oneATurn()
  app.addHook('onRequest', (request, _reply, done) => {
    // Fastify would reject a malformed content type before any parser runs, even if the operation expects no JSON.
    const { takesBody, takesBytes } = request.routeOptions.config
    if (!takesBody || takesBytes) delete request.headers['content-type']
    done(isEncoded(request) ? new Problem('encoded_body') : undefined)
  })
  app.addHook('preParsing', (_request, _reply, payload, done) => {
    countPieces(payload as Readable)
    done(null, payload)
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes, done) => {
    const read = () => {
      try {
        done(null, request.routeOptions.config.takesBytes ? bytes : parse(request, bytes as Buffer))
      } catch (error) {
        done(error as Error)
      }
    }
    if (bytes.length > LONG_BODY) inATurn(read)
    else read()
  })
}
