/**
 * Reads request bodies: JSON in UTF-8 and nothing else, judged with the words of the contract; or the
 * bytes as they are, for operations that take these.
 */

import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import secureJson from 'secure-json-parse'
import { InvalidInput, Problem } from '../../lib/problems.ts'
import { utf8Text } from '../../lib/utf8.ts'
import { oneATurn } from './turns.ts'

/** What takes longer than a moment to read and to check: of these one is read in a turn of the event loop. */
const LONG_BODY = 4 * 1024

const JSON_TYPE = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i

/** The 422 of a body that is not JSON. */
export function jsonInvalid(msg: string): InvalidInput {
  return new InvalidInput([
    { loc: ['body'], msg: `JSON decode error: ${msg}`, type: 'json_invalid' },
  ])
}

function parse(request: FastifyRequest, bytes: Buffer): unknown {
  // An operation that takes no body does not look at one either.
  if (!request.routeOptions.config.takesBody || bytes.length === 0) return undefined
  if (!JSON_TYPE.test(request.headers['content-type'] ?? ''))
    throw jsonInvalid('send the body as application/json')
  const text = utf8Text(bytes)
  if (text === undefined) throw jsonInvalid('the body is not UTF-8')
  try {
    // Keys that would reach an object's prototype are dropped like any unknown field.
    return secureJson.parse(text, {
      protoAction: 'remove',
      constructorAction: 'remove',
    })
  } catch (error) {
    // Up to the quote: what follows there is the body itself, which may hold a secret.
    const said = (error as Error).message.split('"')[0]?.replace(/[\s,.]+$/, '')
    throw jsonInvalid(said || 'the body is not valid JSON')
  }
}

/** True for a body that is compressed or otherwise encoded (RFC 9110 §8.4). */
function isEncoded({ headers }: FastifyRequest): boolean {
  const encodings = headers['content-encoding']?.split(',') ?? []
  return encodings.some((one) => !['', 'identity'].includes(one.trim().toLowerCase()))
}

/** Pieces that a body of any size may arrive in, and bytes for each further one. */
const FREE_PIECES = 64
const BYTES_PER_PIECE = 256

/**
 * Refuses a body that arrives in many small pieces: each costs as much as hundreds of bytes, so 16 KiB in
 * single bytes would hold the event loop for 40 ms.
 */
function countPieces(payload: Readable): void {
  let pieces = 0
  let bytes = 0
  payload.on('data', function count(piece: Buffer) {
    pieces += 1
    bytes += piece.length
    if (pieces <= FREE_PIECES + bytes / BYTES_PER_PIECE) return
    payload.off('data', count)
    // The reader of the body answers with the error, and closes the connection.
    payload.emit('error', Object.assign(new Problem('body_in_pieces'), { statusCode: 400 }))
  })
}

/** Installs the parser for every content type, in place of Fastify's own. */
export function readJsonBodies(app: FastifyInstance): void {
  const inATurn = oneATurn()
  app.addHook('onRequest', (request, _reply, done) => {
    // One of bad grammar would be refused before it comes to a parser, also where no JSON is read.
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
