/** Offers to send another mail with the link that confirms an e-mail address. */
import { useMutation } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import { ApiError } from '../../api/problem.ts'
import { Notice } from './entry-page.tsx'
import { signInTexts as texts } from './sign-in.texts.ts'

interface ResendLinkProps {
  email: string
  subdomain?: string | null | undefined
}

/** A button to request another mail. After the click, the result replaces the button. */
export function ResendLink({ email, subdomain = null }: ResendLinkProps) {
  const resend = useMutation({
    mutationFn: () =>
      take(api.POST('/api/auth/resend-verification', { body: { email, subdomain } })),
  })
  return (
    <div role="status">
      {resend.isSuccess ? (
        <Notice>{texts.resent}</Notice>
      ) : (
        <button
          type="button"
          className="wide"
          aria-busy={resend.isPending}
          onClick={() => !resend.isPending && resend.mutate()}
        >
          {texts.resend}
        </button>
      )}
      {resend.error instanceof ApiError && <p className="form-fault">{resend.error.detail}</p>}
    </div>
  )
}
