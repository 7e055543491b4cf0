import { useEffect, useState } from 'react'
import { commonTexts } from '../words/common.texts.ts'
import { Icon } from './icon.tsx'

const CONFIRMED_MS = 2_000

/**
 * Copies a text to the clipboard. With `label` it is an icon that this text names. Shows nothing where the browser
 * has no clipboard, as over plain HTTP.
 */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), CONFIRMED_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  // The type says that the clipboard always exists. Outside a secure context it does not.
  const clipboard: Clipboard | undefined = navigator.clipboard
  if (!clipboard) return null
  const copy = async () => {
    await clipboard.writeText(text)
    setCopied(true)
  }
  return (
    <button
      type="button"
      className={label ? 'plain' : ''}
      aria-label={isCopied ? undefined : label}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
      {label ? isCopied && <span className="hidden">{commonTexts.copied}</span> : null}
      {!label && (isCopied ? commonTexts.copied : commonTexts.copy)}
    </button>
  )
}
