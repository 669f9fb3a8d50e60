// Refuses texts with a card number, because the server would store and show it in clear.
import { throwProblem } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';

/** @throws ProblemError field_invalid */
export function requireNoCardNumber(text: string | undefined, pointer: string): void {
  if (text === undefined || !holdsCardNumber(text)) return;
  throwProblem(
    'field_invalid',
    `${pointer.slice(1)} contains a text that looks like a card number.`,
    {
      errors: [{ pointer, code: 'field_invalid', detail: 'Looks like a card number.' }],
    },
  );
}
