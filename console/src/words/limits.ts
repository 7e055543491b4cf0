/** The maximum length of a name in the API, for a person, a department or a clinic. */
export const MAX_NAME_LENGTH = 200
