/** The length of the longest name that the API takes, of a person, a department or a clinic. */
export const MAX_NAME_LENGTH = 200
