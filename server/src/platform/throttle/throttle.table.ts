export interface ThrottlesTable {
  key: Buffer
  failures: number
  free_at: string
  forget_at: string
}

declare module '../db/database.ts' {
  interface Database {
    throttles: ThrottlesTable
  }
}
