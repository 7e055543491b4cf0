/** The HTTP operations under `/api/admin/encryption`. */
import { superadmins } from '../../platform/access/index.ts'
import { parseKey } from '../../platform/crypto/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { EncryptionKeys, KeyOrder, Rotation, RotationStatus } from './encryption.schema.ts'
import type { Encryption } from './encryption.service.ts'

const tag = 'Encryption'

export function encryptionOperations(encryption: Encryption): AnyOperation[] {
  return [
    operation({
      method: 'POST',
      path: '/api/admin/encryption/rotate',
      id: 'rotateKeys',
      summary: 'Rotate the encryption keys',
      description:
        'Creates a new platform key and new tenant keys, and re-encrypts all data in the background. Old keys are destroyed when nothing uses them.',
      records: [
        'encryption.rotation_started',
        'encryption.rotation_completed',
        'encryption.rotation_failed',
      ],
      tag,
      access: superadmins,
      isFinal: true,
      body: KeyOrder,
      bodyOptional: true,
      refine: ({ body: { new_key } }, refuse) => {
        if (new_key !== undefined && !parseKey(new_key))
          refuse(['body', 'new_key'], 'must be 32 bytes in base64 or hex')
      },
      success: [200, Rotation],
      refusals: ['rotation_running', 'key_in_use'],
      example: { body: {} },
      handle: ({ caller, body }) =>
        encryption.rotate(caller, body.new_key === undefined ? undefined : parseKey(body.new_key)),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/encryption/status',
      id: 'getRotation',
      summary: 'Get the key rotation',
      description: 'Returns the progress of the current key rotation, or of the latest one.',

      tag,
      access: superadmins,
      success: [200, RotationStatus],
      handle: () => encryption.status(),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/encryption/keys',
      id: 'getEncryptionKeys',
      summary: 'Describe the encryption keys',
      description:
        'Returns the age and the number of the keys, and how many records former keys still encrypt. Contains no key.',
      tag,
      access: superadmins,
      success: [200, EncryptionKeys],
      handle: () => encryption.keys(),
    }),
  ]
}
