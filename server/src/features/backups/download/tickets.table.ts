import type { Generated } from 'kysely'
import type { RestoreRules } from '../../../platform/feature/restore-rule.ts'

export interface DownloadTicketsTable {
  token_hash: Buffer
  tenant_id: number
  user_id: number
  session_id: string
  ip: string
  backup_id: string
  expires_at: string
  used_at: Generated<string | null>
  resumptions: Generated<number>
}

export const DOWNLOAD_TICKET_TABLES = { download_tickets: 'ended' } as const satisfies RestoreRules

declare module '../../../platform/db/database.ts' {
  interface Database {
    download_tickets: DownloadTicketsTable
  }
}
