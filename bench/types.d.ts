/** Type declarations for two packages without types, limited to the parts that the bench uses. */
declare module 'autocannon' {
  export interface Request {
    method?: string
    path?: string
    headers?: Record<string, string>
    body?: string
    setupRequest?(request: Request): Request
    onResponse?(status: number, body: string): void
  }
  export interface Client {
    setHeaders(headers: Record<string, string> | undefined): void
  }
  interface Options {
    url: string
    connections: number
    pipelining: number
    duration: number
    timeout: number
    headers?: Record<string, string>
    setupClient?(client: Client): void
    requests?: Request[]
  }
  interface Result {
    '2xx': number
    non2xx: number
    errors: number
    statusCodeStats?: Record<string, { count: number }>
    duration: number
  }
  export default function autocannon(options: Options): Promise<Result>
}
