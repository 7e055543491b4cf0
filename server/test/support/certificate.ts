/** A self-signed certificate for 127.0.0.1, encoded by hand (X.509, RFC 5280) because Node creates none. */
import { generateKeyPairSync, sign } from 'node:crypto'

const DAY = 24 * 60 * 60 * 1000

const SEQUENCE = 0x30
const INTEGER = 0x02
const BIT_STRING = 0x03
const OCTET_STRING = 0x04
const OID = 0x06
const UTF8 = 0x0c
const SET = 0x31
const UTC_TIME = 0x17
const BOOLEAN = 0x01

function der(tag: number, ...parts: (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as string, 'latin1')))
  const { length } = content
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const oid = (hex: string) => der(OID, Buffer.from(hex, 'hex'))
const time = (ms: number) =>
  der(UTC_TIME, `${new Date(ms).toISOString().slice(2, 19).replaceAll(/[-T:]/g, '')}Z`)

export interface Certificate {
  key: string
  cert: string
}

/** @param until the expiry; tomorrow by default */
export function makeCertificate({ until = Date.now() + DAY } = {}): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(SEQUENCE, oid('2a8648ce3d040302'))
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, oid('550403'), der(UTF8, 'Mail of a test'))))
  const extensions = [
    // Subject alternative name: 127.0.0.1 and localhost.
    der(
      SEQUENCE,
      oid('551d11'),
      der(
        OCTET_STRING,
        der(SEQUENCE, der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, 'localhost')),
      ),
    ),
    // Basic constraints: the certificate is a certificate authority.
    der(
      SEQUENCE,
      oid('551d13'),
      der(BOOLEAN, Buffer.from([255])),
      der(OCTET_STRING, der(SEQUENCE, der(BOOLEAN, Buffer.from([255])))),
    ),
  ]
  const signed = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([1])),
    algorithm,
    name,
    der(SEQUENCE, time(Date.now() - DAY), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, ...extensions)),
  )
  const signature = der(BIT_STRING, Buffer.from([0]), sign('sha256', signed, privateKey))
  const base64 = der(SEQUENCE, signed, algorithm, signature).toString('base64')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replaceAll(/(.{64})/g, '$1\n')}\n-----END CERTIFICATE-----\n`,
  }
}
