import { PasswordField } from '../../parts/form-fields.tsx'
import { passwordTexts as texts } from './password.texts.ts'

/** The field for a new password. The button that shows it replaces a second field. */
export function NewPasswordField({ name, label }: { name: string; label?: string }) {
  return (
    <PasswordField
      name={name}
      label={label ?? texts.newPassword}
      hint={texts.newPasswordHint}
      missing={texts.newPasswordMissing}
      autoComplete="new-password"
      minLength={8}
      maxLength={128}
    />
  )
}
