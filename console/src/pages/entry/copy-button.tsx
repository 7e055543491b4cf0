import { useState } from 'react'
import { secondFactorTexts as texts } from './second-factor.texts.ts'

/** Copies a text. Shows nothing where the browser has no clipboard (plain HTTP). */
export function CopyButton({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false)
  // The type says that the clipboard always exists. Outside a secure context it does not.
  const clipboard: Clipboard | undefined = navigator.clipboard
  if (!clipboard) return null
  return (
    <button
      type="button"
      onClick={async () => {
        await clipboard.writeText(text)
        setCopied(true)
      }}
    >
      <span role="status">{isCopied ? texts.copied : texts.copy}</span>
    </button>
  )
}
