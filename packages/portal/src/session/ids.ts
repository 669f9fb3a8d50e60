/** An identifier that nobody else has: of an operation that may be sent twice and is done once. */
export function newId(): string {
  return crypto.randomUUID();
}
