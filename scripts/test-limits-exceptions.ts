export const EXCEPTIONS = {}
