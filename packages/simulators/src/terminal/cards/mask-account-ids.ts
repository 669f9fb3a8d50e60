// Masks account identifiers of tills: one may be a card number, which the terminal neither stores nor repeats.
import { holdsCardNumber } from '@switchyard/emv';
import type { Structure } from '@switchyard/nexo';

type AccountId = Pick<Structure<'StoredValueAccountID'>, 'IdentificationType'> & {
  readonly StoredValueID?: string;
  readonly Value?: string;
  readonly LoyaltyID?: string;
};

const visibleFirstDigits = 6;
const visibleLastDigits = 4;
/** Length of the shortest card numbers (ISO/IEC 7812-1). */
const cardDigitsMin = 12;
const names = ['StoredValueID', 'Value', 'LoyaltyID'] as const;

/** A number without its inner digits. */
export function maskNumber(number: string): string {
  const digits = number.replace(/\D/g, '').length;
  let position = 0;
  return number.replace(/\d/g, (digit) => {
    position += 1;
    return position <= visibleFirstDigits || position > digits - visibleLastDigits ? digit : '*';
  });
}

function isCardNumber({ IdentificationType: type }: AccountId, text: string): boolean {
  if (holdsCardNumber(text)) return true;
  const isDeclaredCard = type === 'PAN' || type === 'ISOTrack2';
  return isDeclaredCard && text.replace(/\D/g, '').length >= cardDigitsMin;
}

/** An account identifier for a stored answer: masked, and without the track data after the number. */
export function maskAccountId<Id extends AccountId>(id: Id): Id {
  const maskedMembers = names.flatMap((name) => {
    const text = id[name]?.normalize('NFKC');
    if (text === undefined || !isCardNumber(id, text)) return [];
    const number = id.IdentificationType === 'ISOTrack2' ? text.split(/[=D]/)[0] : text;
    return [[name, maskNumber(number ?? '')] as const];
  });
  return { ...id, ...Object.fromEntries(maskedMembers) };
}
