/** Carries messages between all tabs of the console in this browser. */

/** A message between tabs. No message carries a token or a user's data beyond numeric ids. */
export type TabMessage =
  | { type: 'signed-in'; tenant_id: number; user_id: number }
  | { type: 'signed-out' }
  | { type: 'locked' }
  | { type: 'theme'; theme: ThemeChoice }

/** The theme that a person chose. */
export type ThemeChoice = 'system' | 'light' | 'dark'

export interface Channel {
  publish(message: TabMessage): void
  /** Calls the listener with each message of another tab. */
  listen(listener: (message: TabMessage) => void): void
}

/** Opens the channel between the tabs. */
export function openChannel(): Channel {
  const channel = new BroadcastChannel('wardkeep')
  return {
    publish: (message) => channel.postMessage(message),
    listen: (listener) =>
      channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
        const message = readMessage(data)
        if (message) listener(message)
      }),
  }
}

/** Returns the message. Returns undefined for any other data, which another program on this origin may have sent. */
export function readMessage(data: unknown): TabMessage | undefined {
  if (typeof data !== 'object' || data === null || !('type' in data)) return undefined
  if (data.type === 'signed-out' || data.type === 'locked') return { type: data.type }
  if (data.type === 'theme') return 'theme' in data ? readTheme(data.theme) : undefined
  if (data.type !== 'signed-in' || !('tenant_id' in data) || !('user_id' in data)) return undefined
  const { tenant_id, user_id } = data
  if (typeof tenant_id !== 'number' || typeof user_id !== 'number') return undefined
  return { type: 'signed-in', tenant_id, user_id }
}

function readTheme(theme: unknown): TabMessage | undefined {
  if (theme !== 'system' && theme !== 'light' && theme !== 'dark') return undefined
  return { type: 'theme', theme }
}
