/** The proof that the log contains an entry, as a file that others can verify. */
import { useMutation } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import { ApiError } from '../../api/problem.ts'
import { failureSentence } from '../../parts/form-faults.ts'
import { Icon } from '../../parts/icon.tsx'
import { saveText } from '../../parts/save-file.ts'
import { auditTexts } from './audit.texts.ts'

const texts = auditTexts.proof

/** The button that saves the proof of an entry. */
export function DownloadProof({ id }: { id: number }) {
  const download = useMutation({
    mutationFn: async () => {
      const params = { path: { entry_id: id } }
      const { proof } = await take(api.GET('/api/admin/audit/proof/{entry_id}', { params }))
      const name = `audit-proof-${id}.txt`
      saveText(proof, name)
      return name
    },
  })
  const { isPending, error, data } = download
  return (
    <div className="stack tight">
      <div className="row">
        <button
          type="button"
          aria-disabled={isPending}
          onClick={() => isPending || download.mutate()}
        >
          <Icon name="save" />
          {texts.download}
        </button>
      </div>
      <p role="status" className="small muted">
        {error ? sentenceOf(error) : data && texts.saved(data)}
      </p>
    </div>
  )
}

const sentenceOf = (error: Error): string =>
  error instanceof ApiError && error.code === 'entry_not_sealed'
    ? texts.notSealed
    : failureSentence(error)
