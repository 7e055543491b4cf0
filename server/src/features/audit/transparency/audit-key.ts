/** The keys that sign the heads of transparency logs. The first one is created when the first head is requested. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import { type NoteSigner, type NoteVerifier, writeVerifierKey } from '../../../lib/signed-note.ts'
import {
  mustOpen,
  orUnreadable,
  type RootSealed,
  rootPlace,
  type Sealer,
  UnreadableError,
} from '../../../platform/crypto/index.ts'
import { lockUntilEnd, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import * as store from './audit-key.store.ts'

export const SEALED_AUDIT_KEYS: RootSealed = {
  table: 'audit_keys',
  column: 'sealed_private_key',
  id: { column: 'id', type: 'text' },
}

interface AuditKeyDeps {
  db: Scopes
  log: Logger
  sealer: Sealer
  publicUrl: string
}

export interface AuditSigner extends NoteSigner {
  /** The time until which a former key signs along (ISO 8601). Null for the current key. */
  readonly signsUntil: string | null
}

/** The current key, and the former keys that sign along. They have the same name. */
export type AuditSigners = readonly [AuditSigner, ...AuditSigner[]]

export interface AuditKeys {
  /** Creates the current key if there is none. Must be called before the transaction that signs. */
  prepare(): Promise<void>
  /** Reads which keys sign. Another process may rotate them at any time, so each transaction reads them again. */
  signers(tx: TenantTx): Promise<AuditSigners>
  /** Replaces the current key with a new one of the same name. The former one signs along for 30 days. */
  rotate(): Promise<void>
}

/** Returns a key from its row. */
export const verifierOf = ({ name, public_key: key }: store.PublicRow): NoteVerifier => ({
  name,
  publicKey: createPublicKey({ key, format: 'der', type: 'spki' }),
})

export function openAuditKeys({ db, log, sealer, publicUrl }: AuditKeyDeps): AuditKeys {
  /** Opened private keys by id. Undefined for a former key that cannot be decrypted. */
  const opened = new Map<string, KeyObject | undefined>()
  let isPrepared = false

  function open({ id, sealed_private_key }: store.SigningRow): KeyObject {
    const key = sealer.open(sealed_private_key, rootPlace(SEALED_AUDIT_KEYS, id))
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  }

  /** Opens a key once. A former key that cannot be decrypted does not keep the current one from signing. */
  function openOnce(row: store.SigningRow): KeyObject | undefined {
    if (!opened.has(row.id)) {
      const key =
        row.signs_until === null ? mustOpen(() => open(row)) : orUnreadable(() => open(row))
      if (key instanceof UnreadableError) log.error({ err: key }, 'a former audit key cannot sign')
      opened.set(row.id, key instanceof UnreadableError ? undefined : key)
    }
    return opened.get(row.id)
  }

  async function create(tx: TenantTx): Promise<NoteVerifier & { id: string }> {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const id = randomUUID()
    // The name begins the names of all logs, so that they go on after a rotation or a lost root key.
    const [former] = await store.listAuditKeys(tx)
    const name = former?.name ?? `${new URL(publicUrl).host}/audit/${randomUUID()}`
    const secret = privateKey.export({ format: 'der', type: 'pkcs8' })
    await store.insertAuditKey(tx, {
      id,
      name,
      public_key: publicKey.export({ format: 'der', type: 'spki' }),
      sealed_private_key: sealer.seal(secret, rootPlace(SEALED_AUDIT_KEYS, id)),
    })
    return { id, name, publicKey }
  }

  return {
    async prepare() {
      if (isPrepared) return
      if (!(await db.acrossTenants(store.findCurrentAuditKey, 'read')))
        await db.acrossTenants(async (tx) => {
          await lockUntilEnd(tx, 'auditKey')
          if (!(await store.findCurrentAuditKey(tx))) await create(tx)
        })
      isPrepared = true
    },

    async signers(tx) {
      const rows = await store.listSigningRows(tx)
      const signers = rows.flatMap((row): AuditSigner[] => {
        const privateKey = openOnce(row)
        const { name, signs_until: signsUntil } = row
        if (!privateKey) return []
        return [{ name, privateKey, publicKey: createPublicKey(privateKey), signsUntil }]
      })
      const [current, ...former] = signers
      if (current?.signsUntil !== null) throw new Error('the current audit key disappeared')
      return [current, ...former]
    },

    async rotate() {
      await db.acrossTenants(async (tx) => {
        await lockUntilEnd(tx, 'auditKey')
        const former = await store.findCurrentAuditKey(tx)
        await store.retireAuditKey(tx)
        const current = await create(tx)
        await append(tx, SYSTEM, {
          action: 'audit.key_rotated',
          tenant_id: null,
          resource_type: 'audit_key',
          resource_id: current.id,
          changes: {
            before: former ? { key: writeVerifierKey(verifierOf(former)) } : null,
            after: { key: writeVerifierKey(current) },
          },
        })
      })
    },
  }
}
