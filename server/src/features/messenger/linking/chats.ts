/** Chats: numbers and names that are kept sealed, and known by keyed hashes. */
import {
  type DeriveKey,
  type KeyRing,
  placeIn,
  type RootSealed,
  rootPlace,
  type SealedTable,
  type Sealer,
  UnreadableError,
} from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { type Digest, digestWith } from './codes.ts'

export const MESSENGER_LINKS: SealedTable = {
  table: 'messenger_links',
  id: { column: 'id', type: 'bigint' },
  row: 'user_id',
  columns: ['sealed_chat'],
}

/** A private chat, as its owner has named it: names can be anything. */
export interface Chat {
  id: number
  username: string | null
  name: string
}

export interface Chats {
  /** The hash that a chat is known by, in all tenants. */
  hashOf(chatId: number): Buffer
  hashOfCode: Digest
  /** Seals what is of no tenant. */
  seal(column: RootSealed, hash: Buffer, content: object): Buffer
  /** @throws UnreadableError when the column or the hash differs, or a byte was changed */
  open<T>(column: RootSealed, hash: Buffer, sealed: Buffer): T
  /** Seals the chat of a user with the key of their tenant. */
  sealFor(tx: TenantTx, user: { tenant_id: number; user_id: number }, chat: Chat): Promise<Buffer>
  /** @throws UnreadableError as `open`, and where a key of the tenant does not open */
  openOf(tx: TenantTx, link: SealedChat): Promise<Chat>
  /** As `openOf`, and null for what does not open: nobody is kept from seeing their link, or being rid of it. */
  openOrNull(tx: TenantTx, link: SealedChat): Promise<Chat | null>
}

interface SealedChat {
  tenant_id: number
  user_id: number
  sealed_chat: Buffer
}

export function openChats(deps: { deriveKey: DeriveKey; sealer: Sealer; keyRing: KeyRing }): Chats {
  const { sealer, keyRing, deriveKey } = deps
  const hashOf = digestWith(deriveKey('messenger chat'))
  const ofUser = (userId: number) => placeIn(MESSENGER_LINKS, 'sealed_chat', userId)

  async function openOf(tx: TenantTx, { tenant_id, user_id, sealed_chat }: SealedChat) {
    const keys = await keyRing.ofTenant(tx, tenant_id)
    return JSON.parse(keys.open(sealed_chat, ofUser(user_id)).toString('utf8')) as Chat
  }

  return {
    hashOf: (chatId) => hashOf(String(chatId)),
    hashOfCode: digestWith(deriveKey('messenger code')),
    seal: (column, hash, content) => sealer.seal(JSON.stringify(content), rootPlace(column, hash)),
    open: (column, hash, sealed) =>
      JSON.parse(sealer.open(sealed, rootPlace(column, hash)).toString('utf8')),
    async sealFor(tx, { tenant_id, user_id }, chat) {
      const keys = await keyRing.forWriting(tx, tenant_id)
      return keys.seal(JSON.stringify(chat), ofUser(user_id))
    },
    openOf,
    async openOrNull(tx, link) {
      try {
        return await openOf(tx, link)
      } catch (error) {
        if (error instanceof UnreadableError) return null
        throw error
      }
    },
  }
}
