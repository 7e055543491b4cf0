import type { ReactNode } from 'react'
import { type StatusKind, statusWord, type Tone } from '../words/statuses.ts'
import './status-badge.css'

const shapes: Readonly<Record<Tone, ReactNode>> = {
  ok: (
    <>
      <circle cx="8" cy="8" r="7" className="shape" />
      <path d="m5 8.2 2.2 2.2 4-4.3" />
    </>
  ),
  attention: (
    <>
      <path d="M8 1.3 15.3 14.7H.7z" className="shape" />
      <path d="M8 6v4m0 2.2v.01" />
    </>
  ),
  failed: (
    <>
      <path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" className="shape" />
      <path d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" />
    </>
  ),
  waiting: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M8 4.5V8l2.4 1.6" />
    </>
  ),
  off: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M5 8h6" />
    </>
  ),
}

/** Shows a shape and a word in the colour of a tone. */
export function ToneBadge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={`status tone-${tone}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {shapes[tone]}
      </svg>
      {children}
    </span>
  )
}

/** Shows the status of a record, as the API returns it. */
export function StatusBadge({ kind, state }: { kind: StatusKind; state: string }) {
  const { tone, word } = statusWord(kind, state)
  return <ToneBadge tone={tone}>{word}</ToneBadge>
}
