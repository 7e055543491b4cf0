export const clinicTexts = {
  label: 'Clinic',
  hint: 'Its name or subdomain. Can be left empty.',
  hintRequired: 'Its name or subdomain, such as the first part of its web address.',
  missing: 'Enter your clinic.',
}
