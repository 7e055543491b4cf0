import type { ApiError } from '../../api/problem.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { faultAt } from '../../parts/form-faults.ts'
import { Field } from '../../parts/form-fields.tsx'
import { showToast } from '../../parts/toasts.ts'
import { MAX_NAME_LENGTH } from '../../words/limits.ts'
import { useClinicCommands } from './data.ts'
import { tenantTexts as texts } from './tenants.texts.ts'

const MAX_SUBDOMAIN_LENGTH = 63

interface AddTenantProps {
  readonly onAdded: (tenant: { readonly id: number }) => void
  readonly onClose: () => void
}

/** Adds a clinic. */
export function AddTenant({ onAdded, onClose }: AddTenantProps) {
  const { add } = useClinicCommands()
  return (
    <FormDialog
      title={texts.add.open}
      draft="clinics/add"
      submit={texts.add.open}
      busy={texts.add.busy}
      explain={explain}
      onSubmit={async (read) => {
        const added = await add({
          name: read('name').trim(),
          subdomain: read('subdomain').trim().toLowerCase(),
        })
        showToast(texts.add.done(added.name))
        return added
      }}
      onSent={onAdded}
      onClose={onClose}
    >
      <Field
        name="name"
        label={texts.name}
        maxLength={MAX_NAME_LENGTH}
        autoComplete="off"
        required
        focused
      />
      <Field
        name="subdomain"
        label={texts.subdomain}
        hint={texts.add.subdomainHint}
        maxLength={MAX_SUBDOMAIN_LENGTH}
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        required
      />
    </FormDialog>
  )
}

const explain = ({ code }: ApiError) =>
  code === 'subdomain_taken' && faultAt('subdomain', texts.add.taken)
