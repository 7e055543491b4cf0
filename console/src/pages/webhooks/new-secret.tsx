import { useState } from 'react'
import { CopyButton } from '../../parts/copy-button.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { snippets } from './snippets.ts'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.secret

/** Shows a new secret once, and how a receiver verifies messages with it. */
export function NewSecret({ secret, onKept }: { secret: string; onKept: () => void }) {
  return (
    <div className="stack">
      <p>{texts.lead}</p>
      <SecretOnce
        label={texts.label}
        value={secret}
        fileName="wardkeep-webhook-secret.txt"
        onKept={onKept}
      />
      <VerifyCode />
    </div>
  )
}

/** The programs that verify messages, one for each language. */
export function VerifyCode() {
  const [language, setLanguage] = useState('')
  return (
    <details>
      <summary>
        {texts.verify} {snippets.map((one) => one.language).join(', ')}
      </summary>
      <Tabs
        label={texts.verify}
        selected={language}
        onSelect={setLanguage}
        tabs={snippets.map(({ language: id, code }) => ({
          id,
          label: id,
          content: (
            <div className="stack tight">
              <pre className="mono code">{code}</pre>
              <div className="row">
                <CopyButton text={code} />
              </div>
            </div>
          ),
        }))}
      />
    </details>
  )
}
