/** A server that is checked does not do what the SPI requires. */
export class NonconformityError extends Error {}

/** Fails the check with this detail unless the condition is met. */
export function expectConformity(isMet: boolean, detail: string): asserts isMet {
  if (!isMet) throw new NonconformityError(detail);
}
