/** The value of a key column without an identifier. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
