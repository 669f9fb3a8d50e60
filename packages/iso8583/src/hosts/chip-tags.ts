// The chip data of sample messages.

/** The tags of an authorisation and their lengths, with issuer application data (9F10) of its maximum length. */
export const sampleTags: readonly (readonly [tag: string, bytes: number])[] = [
  ['82', 2],
  ['84', 7],
  ['95', 5],
  ['9A', 3],
  ['9C', 1],
  ['5F2A', 2],
  ['9F02', 6],
  ['9F03', 6],
  ['9F10', 32],
  ['9F1A', 2],
  ['9F26', 8],
  ['9F27', 1],
  ['9F33', 3],
  ['9F34', 3],
  ['9F36', 2],
  ['9F37', 4],
];
