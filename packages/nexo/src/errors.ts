/** Faults of what this package is handed by its own caller: a closed list of codes. */

/**
 * The codes of {@link NexoError}.
 *
 * - `amount_invalid`: no amount of the currency, or one of more digits than a number holds exactly
 * - `currency_unknown`: not a currency in which payments are made
 * - `key_invalid`: a shared key without identifier, version or a pass phrase of printable ASCII
 * - `message_invalid`: a message to write breaks the table or a rule; `pointer` says where
 * - `message_too_large`: a message to write is larger than the limit
 *
 * Source: ADR 0049.
 *
 * @example
 * nexoErrorCodes.includes('amount_invalid'); // true
 */
export const nexoErrorCodes = [
  'amount_invalid',
  'currency_unknown',
  'key_invalid',
  'message_invalid',
  'message_too_large',
] as const;

/**
 * One code of {@link NexoError}.
 *
 * Source: ADR 0049.
 *
 * @example
 * const code: NexoErrorCode = 'amount_invalid';
 */
export type NexoErrorCode = (typeof nexoErrorCodes)[number];

/**
 * The error of this package for wrong parameters of the caller. Data from the other
 * side never causes it: the functions return a value. The message holds the code, a place and a problem,
 * and never a value out of a message.
 *
 * Source: ADR 0049.
 *
 * @param code - a code of {@link nexoErrorCodes}
 * @param pointer - a JSON pointer into the message, where there is one
 * @param problem - what is wrong there
 * @example
 * try { writeMessage(message); } catch (error) { if (error instanceof NexoError) log(error.code); }
 */
export class NexoError extends Error {
  override readonly name = 'NexoError';
  readonly code: NexoErrorCode;
  readonly pointer: string | undefined;

  constructor(code: NexoErrorCode, pointer?: string, problem?: string) {
    super([code, pointer, problem].filter((part) => part !== undefined).join(' '));
    this.code = code;
    this.pointer = pointer;
  }
}
