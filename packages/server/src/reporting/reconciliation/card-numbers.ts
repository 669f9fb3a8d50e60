// What is kept and shown as it came holds no card number: one in it would be one in clear.
import { refuse } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';

/** @throws Refusal field_invalid */
export function refuseCardNumber(text: string | undefined, pointer: string): void {
  if (text === undefined || !holdsCardNumber(text)) return;
  refuse('field_invalid', `${pointer.slice(1)} holds what looks like a card number.`, {
    errors: [{ pointer, code: 'field_invalid', detail: 'Looks like a card number.' }],
  });
}
