import { useEffect, useState } from 'react'
import { commonTexts } from '../words/common.texts.ts'
import { Icon } from './icon.tsx'

const CONFIRMED_MS = 2_000

const RESULTS = {
  copied: { icon: 'check', words: commonTexts.copied },
  failed: { icon: 'close', words: commonTexts.notCopied },
} as const

/**
 * Copies text to the clipboard. With `label`, the button is an icon with that label. Shows nothing if the browser has
 * no clipboard, for example over plain HTTP.
 */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const [result, setResult] = useState<keyof typeof RESULTS>()
  useEffect(() => {
    if (!result) return
    const timer = setTimeout(() => setResult(undefined), CONFIRMED_MS)
    return () => clearTimeout(timer)
  }, [result])
  // The clipboard's type is wrong: the clipboard does not exist outside a secure context.
  const clipboard: Clipboard | undefined = navigator.clipboard
  if (!clipboard) return null
  const copy = () =>
    clipboard.writeText(text).then(
      () => setResult('copied'),
      // The browser may refuse, for example without permission.
      () => setResult('failed'),
    )
  const words = result && RESULTS[result].words
  return (
    <button
      type="button"
      className={label ? 'plain' : ''}
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={result ? RESULTS[result].icon : 'copy'} />
      <span role="status" className={label ? 'hidden' : undefined}>
        {words ?? (label ? '' : commonTexts.copy)}
      </span>
    </button>
  )
}
