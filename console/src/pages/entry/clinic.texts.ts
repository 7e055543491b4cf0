export const clinicTexts = {
  label: 'Clinic',
  hint: 'The name or the subdomain of the clinic. Can be left empty.',
  hintRequired: 'The name of the clinic, or its subdomain: the first part of its web address.',
  missing: 'Enter your clinic.',
}
